"""Which rows of a file have to be parsed to see what stands at a place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from jaxlint.symbols.outline import Class, Function, Outline
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Expr, Span

#: The first and the last row.
Rows: TypeAlias = tuple[int, int]


def rows_around(outline: Outline, place: Span) -> Rows | None:
    """The rows of the innermost function or class that holds a place, else of the top-level statement."""
    holding = [rows for rows in _blocks(outline) if rows[0] <= place.row and place.end_row <= rows[1]]
    return min(holding, key=lambda rows: rows[1] - rows[0], default=None)


def _blocks(outline: Outline) -> Iterator[Rows]:
    for unit in outline.units:
        yield unit.first, unit.last
    for cls in outline.classes.values():
        yield _with_decorators(cls, cls.at.end_row)
    for function in outline.functions.values():
        if function.body_rows[1]:
            yield _with_decorators(function, function.body_rows[1])


def _with_decorators(declared: Class | Function, last: int) -> Rows:
    decorators: tuple[Expr, ...] = declared.decorators
    return min([declared.at.row, *(place_of(one.at).row for one in decorators)]), last
