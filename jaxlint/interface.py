"""What other modules can see of a module, as a digest: while it stays the same, they need not be checked again.

The digest has two parts. The first covers what every module may see: the text without comments, blank lines and the
bodies of functions that are plain, or that say what they return; of those it covers what the outline tells other
modules. The second covers what is left to modules that import this one: the bodies of plain functions that do not say
what they return. Soundness is what counts here: text that is covered needlessly costs a check, text that is left out
wrongly costs a finding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jaxlint.digests import DIGEST_SIZE, blake2b
from jaxlint.expr import Call, Expr, Lambda, Name, Span
from jaxlint.outline import EXPECTS_ERROR, Assignment, Function, Import, Outline
from jaxlint.statements import parts

#: Methods whose bodies tell other modules what instances are made of.
_TELLING = frozenset({"__init__", "__post_init__", "__new__", "setup", "__init_subclass__"})
#: More statements than that, and twice as many as there are functions inside, make no difference to a function that may
#: pass its arguments on (`pytrees.callee`).
_COUNTED_STATEMENTS = 10


def interface_digest(outline: Outline, text: str, *, counts_all: bool = True) -> bytes:
    """The digest of what other modules can see of the module with this outline and text.

    Without `counts_all`, how many statements a function has counts only where it may pass its arguments on.
    """
    shown, imported = blake2b(digest_size=DIGEST_SIZE), blake2b(digest_size=DIGEST_SIZE)
    lines = text.splitlines()
    telling = _telling_scopes(outline)
    open_bodies = changes_modules(outline)
    # what methods return that stand for inherited ones is followed without an import
    has_plain = not any(cls.bases for cls in outline.classes.values())
    plain: set[str] = set()
    passing = None if counts_all else _passing(outline)
    closed_rows: set[int] = set()
    plain_rows: set[int] = set()
    for function in outline.functions.values():
        rows = range(function.body_rows[0], function.body_rows[1] + 1)
        is_hidden = function.body_rows[0] > 0 and "flatten" not in function.name and not _holds(function, telling)
        if has_plain and is_hidden and not function.scope:
            plain.add(function.qualname)
            plain_rows.update(rows)
        if not open_bodies and is_hidden and _is_closed(function):
            closed_rows.update(rows)
        elif function.qualname.partition(".")[0] not in plain:
            continue
        is_plain = function.qualname.partition(".")[0] in plain
        counts = passing is None or _outermost(function) in passing
        most = _COUNTED_STATEMENTS + 2 * len(outline.functions) if counts else 1
        shown.update(_encoded(_facts(function, outline, lines, is_plain, most)))
        if is_plain:
            imported.update(_encoded([_text(value.at, lines) for value in function.return_values]))
    for row, line in enumerate(lines, 1):
        stripped = line.strip()
        if row not in closed_rows and stripped and not stripped.startswith("#"):
            (imported if row in plain_rows else shown).update(line.encode("utf-8", "surrogatepass") + b"\n")
    expecting = [(name, not unit.calls.isdisjoint(EXPECTS_ERROR)) for unit in outline.units for name in unit.calls]
    shown.update(_encoded((sorted(set(expecting)), outline.imported_modules)))
    for applying in outline.applying:  # what is done to functions of other modules
        shown.update(_encoded((applying.scope, _text(applying.call.at, lines))))
    return shown.digest() + imported.digest()


def changes_modules(outline: Outline) -> bool:
    """Whether functions may write to modules of flax.nnx or treex: what they do is followed from other modules."""
    return any(name.startswith(("flax.nnx", "treex")) for _, name in outline.imported_modules)


def _telling_scopes(outline: Outline) -> frozenset[str]:
    """The scopes of functions that declare classes or bind names of the module."""
    holding = {cls.scope for cls in outline.classes.values()}
    found = holding | {scope.qualname for scope in outline.scopes.values() if scope.is_global}
    return frozenset(scope for scope in found if "<locals>" in scope)


def _holds(function: Function, scopes: Collection[str]) -> bool:
    """Whether one of the scopes is that of a function, or of one that is declared in it."""
    own = f"{function.qualname}.<locals>"
    return any(scope.startswith(own) for scope in scopes)


def _is_closed(function: Function) -> bool:
    """Whether other modules see nothing of the body but what `_facts` says."""
    return function.returns is not None and function.name not in _TELLING and not function.self_assignments


def _passing(outline: Outline) -> set[str]:
    """The outermost functions that return a call, or in which a function does: they may pass their arguments on."""
    return {_outermost(function) for function in outline.functions.values() if _returns_call(function, outline)}


def _outermost(function: Function) -> str:
    return function.qualname.partition(".<locals>")[0]


def _returns_call(function: Function, outline: Outline) -> bool:
    """Whether a function returns a call or a lambda, or a variable of which the outline tells what it is given."""
    bindings = outline.scopes[f"{function.qualname}.<locals>"].bindings
    for value in function.return_values:
        if isinstance(value, (Call, Lambda)):
            return True
        if isinstance(value, Name):
            found = bindings.get(value.id, ())
            if any(isinstance(b, Assignment) and b.value is not None for b in found):
                return True
    return False


def _facts(
    function: Function, outline: Outline, lines: list[str], is_plain: bool, most_statements: int
) -> tuple[object, ...]:
    """What the outline says of a body; of a plain function, who does not import it sees no constant that it returns.

    More statements than `most_statements` make no difference.
    """
    returned = [_text(v.at, lines) for v in function.return_values if not is_plain or _names_something(v)]
    effects = [_text(call.at, lines) for call in function.effects]
    return (
        function.qualname,
        function.is_generator,
        function.only_returns,
        min(function.statements, most_statements),
        sorted(function.self_calls),
        sorted(function.self_reads),
        sorted(function.self_mutations),
        returned,
        effects,
        list(_local_meanings(function, outline, lines)),
    )


def _local_meanings(function: Function, outline: Outline, lines: list[str]) -> Iterator[tuple[str, object]]:
    """What names mean inside of a function, as far as the outline says."""
    scope = outline.scopes.get(f"{function.qualname}.<locals>")
    for name, bindings in scope.bindings.items() if scope is not None else ():
        for binding in bindings:
            if isinstance(binding, Import):
                yield name, repr(binding)
            elif isinstance(binding, Assignment) and binding.value is not None and binding.guard != "parameter":
                yield name, _text(binding.at, lines)


def _names_something(value: Expr) -> bool:
    """Whether an expression is more than a constant."""
    return any(isinstance(part, (Call, Lambda, Name)) for part in parts(value))


def _text(at: Span, lines: list[str]) -> list[str]:
    return lines[at.row - 1 : at.end_row]


def _encoded(found: object) -> bytes:
    return repr(found).encode("utf-8", "surrogatepass")
