"""What a statement binds, and where it stands, without what stands in functions inside of it."""

from __future__ import annotations

from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Span
from jaxlint.syntax.statements import Statement, bound_by, expressions, target_names


def binds(statement: Statement, name: str) -> bool:
    """Whether a statement assigns to a variable, goes through a loop with it, or opens something as it."""
    return any(name in target_names(target) for target in bound_by(statement))


def end_of(statement: Statement) -> tuple[int, int]:
    """Where the expressions of a statement end, without those of its blocks: the row, and the column in bytes."""
    return max((place_of(expr.at)[2:] for expr in expressions(statement)), default=(0, 0))


def is_around(statement: Statement, place: Span) -> bool:
    """Whether a statement holds a place, by its rows."""
    return bool(statement.at.lineno <= place.row <= statement.at.end_lineno)
