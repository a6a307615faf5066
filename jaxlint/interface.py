"""What other modules can see of a module, as a digest: while it stays the same, they need not be checked again.

The digest covers the text of a module without comments, blank lines and the bodies of functions that say what they
return; of those it covers what the outline tells other modules. Soundness is what counts here: text that is
covered needlessly costs a check, text that is left out wrongly costs a finding.
"""

from __future__ import annotations

from hashlib import blake2b

from jaxlint.outline import Function, Outline

#: Methods whose bodies tell other modules what instances are made of.
_TELLING = frozenset({"__init__", "__post_init__", "__new__", "setup", "__init_subclass__"})


def interface_digest(outline: Outline, text: str) -> bytes:
    """The digest of what other modules can see of the module with this outline and text."""
    digest = blake2b(digest_size=16)
    lines = text.splitlines()
    hidden: set[int] = set()
    holding_classes = {cls.scope for cls in outline.classes.values()}
    open_bodies = changes_modules(outline)
    for function in outline.functions.values():
        if not open_bodies and _is_closed(function, holding_classes):
            hidden.update(range(function.body_rows[0], function.body_rows[1] + 1))
            digest.update(repr(_facts(function, lines)).encode())
    for row, line in enumerate(lines, 1):
        stripped = line.strip()
        if row not in hidden and stripped and not stripped.startswith("#"):
            digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    calls = sorted({name for unit in outline.units for name in unit.calls})
    digest.update(repr((calls, outline.imported_modules)).encode())
    for applying in outline.applying:  # what is done to functions of other modules
        at = applying.call.at
        digest.update(repr((applying.scope, lines[at.row - 1 : at.end_row])).encode("utf-8", "surrogatepass"))
    return digest.digest()


def changes_modules(outline: Outline) -> bool:
    """Whether functions may write to modules of flax.nnx or treex: what they do is followed from other modules."""
    return any(name.startswith(("flax.nnx", "treex")) for _, name in outline.imported_modules)


def _is_closed(function: Function, holding_classes: set[str]) -> bool:
    """Whether other modules see nothing of the body but what `_facts` says."""
    return (
        function.body_rows[0] > 0
        and function.returns is not None
        and function.name not in _TELLING
        and "flatten" not in function.name
        and not function.self_assignments
        and f"{function.qualname}.<locals>" not in holding_classes
    )


def _facts(function: Function, lines: list[str]) -> tuple[object, ...]:
    """What the outline says of a body."""
    returned = [lines[value.at.row - 1 : value.at.end_row] for value in function.return_values]
    effects = [lines[call.at.row - 1 : call.at.end_row] for call in function.effects]
    return (
        function.qualname,
        function.is_generator,
        function.only_returns,
        function.statements,
        sorted(function.self_calls),
        sorted(function.self_reads),
        sorted(function.self_mutations),
        returned,
        effects,
    )
