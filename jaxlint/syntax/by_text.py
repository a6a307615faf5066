"""What is found out of pieces of text alone: while a file is edited, most of them stay as they are."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V")

#: So many rows are stored, some 30 MB of parsed units.
_MOST_ROWS = 10_000


class ByText(Generic[V]):
    """What was found out last of texts, with what else it depends on."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[str, Hashable], V] = OrderedDict()
        self._rows = 0

    def __contains__(self, key: tuple[str, Hashable]) -> bool:
        return key in self._found

    def __getitem__(self, key: tuple[str, Hashable]) -> V:
        self._found.move_to_end(key)
        return self._found[key]

    def __setitem__(self, key: tuple[str, Hashable], found: V) -> None:
        self._found[key] = found
        self._rows += key[0].count("\n")
        while self._rows > _MOST_ROWS:
            (text, _), _ = self._found.popitem(last=False)
            self._rows -= text.count("\n")
