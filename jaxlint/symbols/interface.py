"""What other modules can see of a module, as a digest: while it stays the same, they need not be checked again.

The digest has two parts. The first covers what every module may see: the text without comments, blank lines and the
bodies of functions that are plain, or that say what they return; of those it covers what the outline tells other
modules. The second covers what is left to modules that import this one: the bodies of plain functions that do not say
what they return. Soundness is what counts here: text that is covered needlessly costs a check, text that is left out
wrongly costs a finding.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar

from jaxlint.cache.digests import DIGEST_SIZE, blake2b
from jaxlint.libraries.transforms import LAST_NAMES
from jaxlint.symbols.collected import split_rows
from jaxlint.symbols.outline import (
    COPY_AND_MUTATE,
    EXPECTS_ERROR,
    Applying,
    Assignment,
    Class,
    Definition,
    Function,
    Import,
    Outline,
)
from jaxlint.syntax.expressions import Call, Constant, Expr, Lambda, Name, Span, dotted
from jaxlint.syntax.statements import parts

T = TypeVar("T")

#: Methods whose bodies tell other modules what instances are made of.
_TELLING = frozenset({"__init__", "__post_init__", "__new__", "setup", "__init_subclass__"})
#: Functions whose callers may make classes or fields: what else these do is found out by running them.
_DECLARING = frozenset(
    "dataclass pytree_dataclass field fields static_field register_dataclass register_pytree_node register_static"
    " register_pytree_with_keys register_pytree_node_class register_pytree_with_keys_class dataclass_transform".split()
)
#: More statements than that, and twice as many as there are functions inside, make no difference to a function that may
#: pass its arguments on (`pytrees.callee`).
_COUNTED_STATEMENTS = 10


def interface_digest(outline: Outline, text: str) -> bytes:
    """The digest of what other modules can see of the module with this outline and text."""
    shown, imported = blake2b(digest_size=DIGEST_SIZE), blake2b(digest_size=DIGEST_SIZE)
    digests = _Digests(outline, split_rows(text))
    for index in range(len(outline.units)):
        one, other = digests.of(index)
        shown.update(one)
        imported.update(other)
    called = {
        (name, not unit.calls.isdisjoint(EXPECTS_ERROR), COPY_AND_MUTATE in unit.calls)
        for unit in outline.units
        for name in unit.calls
    }
    shown.update(_encoded((sorted(called), outline.imported_modules)))
    return shown.digest() + imported.digest()


class _Digests:
    """Makes the digests of the units of a module."""

    def __init__(self, outline: Outline, lines: Sequence[str]) -> None:
        self.outline = outline
        self.lines = lines
        self.has_open_bodies = changes_modules(outline)
        self.has_plain = _hides_functions(outline)

    @cached_property
    def _functions(self) -> list[list[Function]]:
        return _by_unit(self.outline, self.outline.functions.values(), lambda function: function.at)

    @cached_property
    def _telling(self) -> frozenset[str]:
        return _telling_scopes(self.outline)

    @cached_property
    def _applying(self) -> list[list[Applying]]:
        return _by_unit(self.outline, self.outline.applying, lambda applying: applying.call.at)

    def of(self, index: int) -> tuple[bytes, bytes]:
        """What a unit shows to every module, and to those that import its own."""
        shown, imported = blake2b(digest_size=DIGEST_SIZE), blake2b(digest_size=DIGEST_SIZE)
        outline, lines, unit, functions = self.outline, self.lines, self.outline.units[index], self._functions[index]
        plain: set[str] = set()
        closed_rows: set[int] = set()
        plain_rows: set[int] = set()
        for function in functions:
            rows = range(function.body_rows[0], function.body_rows[1] + 1)
            is_hidden = (
                function.body_rows[0] > 0
                and "flatten" not in function.name
                and unit.calls.isdisjoint(_DECLARING)
                and not _holds(function, self._telling)
            )
            if self.has_plain and is_hidden and not function.scope:
                plain.add(function.qualname)
                plain_rows.update(rows)
            if not self.has_open_bodies and is_hidden and _is_closed(function):
                closed_rows.update(rows)
            elif function.qualname.partition(".")[0] not in plain:
                continue
            is_plain = function.qualname.partition(".")[0] in plain
            most = _COUNTED_STATEMENTS + 2 * len(outline.functions)
            shown.update(_encoded(_facts(function, outline, lines, is_plain, most)))
            if is_plain:
                imported.update(_encoded([_text(value.at, lines) for value in function.return_values]))
        for row in range(unit.first, unit.last + 1):
            stripped = lines[row - 1].strip()
            if row not in closed_rows and stripped and not stripped.startswith("#"):
                into = imported if row in plain_rows else shown
                into.update(lines[row - 1].encode("utf-8", "surrogatepass") + b"\n")
        for applying in self._applying[index]:  # what is done to functions of other modules
            shown.update(_encoded((applying.scope, _text(applying.call.at, lines))))
        return shown.digest(), imported.digest()


def _by_unit(outline: Outline, items: Iterable[T], at: Callable[[T], Span]) -> list[list[T]]:
    """What stands in each unit of a module, of some items and their places."""
    rows = [unit.first for unit in outline.units]
    found: list[list[T]] = [[] for _ in rows]
    for item in items:
        found[bisect_right(rows, at(item).row) - 1].append(item)
    return found


def _hides_functions(outline: Outline) -> bool:
    """Whether only who imports a module sees the bodies of its plain functions.

    What methods return that stand for inherited ones is followed without an import.
    """
    return all(not cls.bases or _is_bare(cls, outline) for cls in outline.classes.values())


def _is_bare(cls: Class, outline: Outline) -> bool:
    """Whether a class only declares fields: who sees it as a subclass gets from it to no function of its module."""
    if cls.scope or cls.conditional_body:
        return False
    body = [binding for found in outline.scopes[cls.qualname].bindings.values() for binding in found]
    if cls.assignments or not all(isinstance(binding, Assignment) for binding in body):
        return False
    if not all(field.value is None or isinstance(field.value, Constant) for field in cls.fields):
        return False
    named = [*cls.decorators, *[argument.value for argument in cls.bases]]
    names = {part.id for expr in named for part in parts(expr) if isinstance(part, Name)}
    bound = [binding for name in names for binding in outline.module_scope.bindings.get(name, ())]
    return all(isinstance(b, Import) or (isinstance(b, Definition) and b.kind == "class") for b in bound)


def changes_modules(outline: Outline) -> bool:
    """Whether functions may write to modules of flax.nnx or treex: what they do is followed from other modules."""
    return any(name.startswith(("flax.nnx", "treex")) for _, name in outline.imported_modules)


def transforms_functions(outline: Outline) -> bool:
    """Whether something in a module is called like a transformation of JAX that is applied to functions."""
    decorators = [decorator for function in outline.functions.values() for decorator in function.decorators]
    named = [dotted(part) or "" for decorator in decorators for part in parts(decorator)]
    return bool(outline.applying) or any(name.rpartition(".")[2] in LAST_NAMES for name in named)


def _telling_scopes(outline: Outline) -> frozenset[str]:
    """The scopes of functions that declare classes or bind names of the module."""
    holding = {cls.scope for cls in outline.classes.values()}
    found = holding | {scope.qualname for scope in outline.scopes.values() if scope.is_global}
    return frozenset(scope for scope in found if "<locals>" in scope)


def _holds(function: Function, scopes: Collection[str]) -> bool:
    """Whether one of the scopes is that of a function, or of one that is declared in it."""
    own = f"{function.qualname}.<locals>"
    return any(scope.startswith(own) for scope in scopes)


def shows_body(function: Function, outline: Outline) -> bool:
    """Whether other modules may look into a function of a module: all that they can see of it is in the digest."""
    return not _is_closed(function) or "flatten" in function.name or changes_modules(outline)


def _is_closed(function: Function) -> bool:
    """Whether other modules see nothing of the body but what `_facts` says."""
    is_said = function.returns is not None and not (function.may_only_copy or function.checks)
    return is_said and function.name not in _TELLING and not function.self_assignments


def _facts(
    function: Function, outline: Outline, lines: Sequence[str], is_plain: bool, most_statements: int
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
        function.acts,
        min(function.statements, most_statements),
        sorted(function.self_calls),
        sorted(function.self_reads),
        sorted(function.self_traits),
        sorted(function.self_mutations),
        returned,
        effects,
        list(_local_meanings(function, outline, lines)),
    )


def _local_meanings(function: Function, outline: Outline, lines: Sequence[str]) -> Iterator[tuple[str, object]]:
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


def _text(at: Span, lines: Sequence[str]) -> Sequence[str]:
    return lines[at.row - 1 : at.end_row]


def _encoded(found: object) -> bytes:
    return repr(found).encode("utf-8", "surrogatepass")
