"""Which rows of a file have to be parsed to see what stands at a place."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TypeAlias

from jaxlint.symbols.outline import Class, Function, Outline
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Expr, Span

#: The first and the last row.
Rows: TypeAlias = tuple[int, int]


class Blocks:
    """The top-level statements, functions and classes of a file, by their rows."""

    def __init__(self, outline: Outline) -> None:
        self._units = [(unit.first, unit.last) for unit in outline.units]
        inner = [_with_decorators(cls, cls.at.end_row) for cls in outline.classes.values()]
        inner += [_with_decorators(f, f.body_rows[1]) for f in outline.functions.values()]
        self._inner = sorted(inner)

    def rows_around(self, place: Span) -> Rows | None:
        """The rows of the innermost function or class that holds a place, else of the top-level statement."""
        behind = bisect_right(self._units, place.row, key=lambda rows: rows[0])
        if not behind or self._units[behind - 1][1] < place.end_row:
            return None
        unit = self._units[behind - 1]
        start = bisect_left(self._inner, unit[0], key=lambda rows: rows[0])
        end = bisect_right(self._inner, place.row, key=lambda rows: rows[0])
        holding = (rows for rows in (unit, *self._inner[start:end]) if place.end_row <= rows[1])
        return min(holding, key=lambda rows: rows[1] - rows[0])


def _with_decorators(declared: Class | Function, last: int) -> Rows:
    decorators: tuple[Expr, ...] = declared.decorators
    return min([declared.at.row, *(place_of(one.at).row for one in decorators)]), last
