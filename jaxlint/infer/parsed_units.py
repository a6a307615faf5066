"""Units that were parsed, by their text and place: while a file is edited, most of them stay as they are."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeAlias

from jaxlint.syntax.statements import Body

#: So many rows are stored, some 30 MB.
_MOST_ROWS = 10_000
_Key: TypeAlias = tuple[str, int]


class ParsedUnits:
    """The statements of the units that were asked for last; None for those that nest too deeply to be read."""

    def __init__(self) -> None:
        self._units: OrderedDict[_Key, Body | None] = OrderedDict()
        self._rows = 0

    def __contains__(self, unit: _Key) -> bool:
        return unit in self._units

    def __getitem__(self, unit: _Key) -> Body | None:
        self._units.move_to_end(unit)
        return self._units[unit]

    def __setitem__(self, unit: _Key, statements: Body | None) -> None:
        self._units[unit] = statements
        self._rows += unit[0].count("\n")
        while self._rows > _MOST_ROWS:
            (text, _), _ = self._units.popitem(last=False)
            self._rows -= text.count("\n")
