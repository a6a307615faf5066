"""The rows of a unit: which of its functions are worth reading."""

from __future__ import annotations

from typing import TypeAlias

from jaxlint.symbols.outline import (
    Unit,
)

#: The first and the last row of a piece, and whether it is the rest of its unit.
Place: TypeAlias = tuple[int, int, bool]


class Rows:
    """The rows of the functions of a unit that are worth reading."""

    def __init__(self, places: list[Place]) -> None:
        self.places = frozenset(first for first, last, is_rest in places if not is_rest)

    @classmethod
    def around(cls, row: int, unit: Unit) -> Rows:
        """Those of the function of the unit that holds a row."""
        return cls([place(piece) for piece in unit.pieces if piece.first <= row <= piece.last])

    def hold(self, row: int) -> bool:
        """Whether the function that begins in a row is among them."""
        return row in self.places


def place(piece: Unit) -> Place:
    """Where a piece stands."""
    return piece.first, piece.last, piece.kind == "rest"
