"""The outline's declarations for the `def` and `class` statements of a unit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from jaxlint.symbols.outline import Class, Function
from jaxlint.syntax.statements import Body, ClassDefinition, FunctionDefinition, Statement, blocks


class Declarations:
    """The outline's functions and classes (`found`) for the definitions in a body, by where they stand."""

    def __init__(self, found: Iterable[Function | Class], body: Body) -> None:
        self._body = body
        self._functions: dict[tuple[int, int], Function] = {}
        self._classes: dict[tuple[int, int], Class] = {}
        for declared in found:
            place = (declared.at.row, declared.at.column)
            if isinstance(declared, Function):
                self._functions[place] = declared
            else:
                self._classes[place] = declared

    def function(self, statement: FunctionDefinition) -> Function | None:
        """The outline's entry of a function."""
        return self._functions.get(_place(statement))

    def cls(self, statement: ClassDefinition) -> Class | None:
        """The outline's entry of a class."""
        return self._classes.get(_place(statement))

    def statement_of(self, function: Function) -> FunctionDefinition | None:
        """The statement that defines a function of the outline."""
        wanted, body = (function.at.row, function.at.column), self._body
        while body:
            around = _at_row(body, wanted[0])
            if isinstance(around, FunctionDefinition) and _place(around) == wanted:
                return around
            body = () if around is None else _block_at(around, wanted[0])
        return None


def _at_row(body: Body, row: int) -> Statement | None:
    """The statement of a block that holds a row; the last of several in one row: a function is alone in its first."""
    last = bisect_right(body, row, key=lambda s: s.at.lineno) - 1
    return body[last] if last >= 0 and row <= body[last].at.end_lineno else None


def _place(statement: FunctionDefinition | ClassDefinition) -> tuple[int, int]:
    return statement.at.lineno, statement.at.col_offset


def _block_at(statement: Statement, row: int) -> Body:
    """The block of a statement that holds a row."""
    return next((b for b in blocks(statement) if b and b[0].at.lineno <= row <= b[-1].at.end_lineno), ())
