"""What is shown between the lines: roles behind fields, and what a class is made of above it."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from jaxlint.linter.draw import may_miss
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.report.drawing import ASSIGNED, FLATTENED, UNSEEN
from jaxlint_lsp.positions import Positions

SHOW_TREE = "jaxlint.tree"
_LABELS = {Role.LEAF: "leaf", Role.STATIC: "static", Role.DROPPED: "ignored"}
_PLURALS = {Role.LEAF: "leaves", Role.STATIC: "static", Role.DROPPED: "ignored"}
#: What is said of fields that may not be counted, by the reason.
_MORE = {UNSEEN: ", more unknown", ASSIGNED: ", more unknown", FLATTENED: " by its own code"}


def inlay_hints(classes: list[PytreeClass], positions: Positions, where: types.Range) -> Iterator[types.InlayHint]:
    """The role of each field that is declared in a range, behind its declaration; none where it is not known."""
    for cls in classes:
        for declared in cls.symbol.declaration.fields:
            field = cls.field(declared.name)
            if field is None or field.owner != cls.symbol or field.role not in _LABELS:
                continue
            end = positions.of_span(declared.at).end
            if where.start.line <= end.line <= where.end.line:
                yield types.InlayHint(position=end, label=_LABELS[field.role], padding_left=True)


def code_lenses(uri: str, classes: list[PytreeClass], positions: Positions) -> Iterator[types.CodeLens]:
    """A line above each class that counts its fields and leads to the drawing of its pytree."""
    for cls in classes:
        where = positions.of_span(cls.symbol.declaration.name_at)
        yield types.CodeLens(where, types.Command(_title(cls), SHOW_TREE, arguments=[uri, where.start.line]))


def _title(cls: PytreeClass) -> str:
    counts = {role: sum(field.role is role for field in cls.fields) for role in _LABELS}
    parts = [
        f"{count} {_LABELS[role] if count == 1 else _PLURALS[role]}"
        for role, count in counts.items()
        if count or role is Role.LEAF
    ]
    missing = may_miss(cls) if sum(counts.values()) == len(cls.fields) else UNSEEN
    return f"pytree: {', '.join(parts)}{_MORE.get(missing, '')}"
