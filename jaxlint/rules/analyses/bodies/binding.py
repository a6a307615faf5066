"""What a statement binds, and where it stands, without what stands in functions inside; which names are free."""

from __future__ import annotations

from collections.abc import Iterable

from jaxlint.infer.evaluating.events import Place
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Name, Span
from jaxlint.syntax.statements import (
    Body,
    Statement,
    all_parts,
    assigned_names,
    bound_by,
    expressions,
    target_names,
)


def binds(statement: Statement, name: str) -> bool:
    """Whether a statement assigns to a variable, goes through a loop with it, or opens something as it."""
    return any(name in target_names(target) for target in bound_by(statement))


def free_name(names: Iterable[str], body: Body, place: Place) -> str:
    """The first of some names that means nothing in the code around a place, whose body is given; "" if none does."""
    scopes, function = place.module.outline.scopes, place.function
    taken = {part.id for part in all_parts(body) if isinstance(part, Name)} | assigned_names(body)
    taken |= scopes[""].bindings.keys() | scopes[place.scope].bindings.keys()
    taken |= {parameter.name for parameter in function.parameters} if function is not None else set()
    return next((name for name in names if name not in taken), "")


def end_of(statement: Statement) -> tuple[int, int]:
    """Where the expressions of a statement end, without those of its blocks: the row, and the column in bytes."""
    return max((place_of(expr.at)[2:] for expr in expressions(statement)), default=(0, 0))


def is_around(statement: Statement, place: Span) -> bool:
    """Whether a statement holds a place, by its rows."""
    return bool(statement.at.lineno <= place.row <= statement.at.end_lineno)
