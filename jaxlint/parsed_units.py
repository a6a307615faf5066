"""Parsed units that outlive a check: between two keys in an editor, nearly all units of a file stay the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from jaxlint.infer.reader import parse_text

if TYPE_CHECKING:
    import libcst as cst

    from jaxlint.statements import Body

#: How many characters of source are kept parsed; a tree takes some 300 times as many bytes.
_MOST_CHARACTERS = 400_000


class ParsedUnits:
    """The parsed units of the files in `paths`, by their text; those that were not used for longest go first.

    No tree is two units at a time: what is found at a node is placed by the unit that holds it.
    """

    def __init__(self, paths: Container[str], step: Callable[[], None]) -> None:
        self._paths = paths
        self._step = step
        self._kept: OrderedDict[tuple[str, str], tuple[cst.Module, Body] | None] = OrderedDict()
        self._characters = 0
        self._rows: dict[tuple[str, str], int] = {}

    def start(self) -> None:
        """Units may stand in other rows from now on."""
        self._rows.clear()

    def parse(self, path: str, first: int, text: str) -> tuple[cst.Module, Body] | None:
        """The libcst tree and the statements of the unit of the file `path` that begins at the row `first`."""
        self._step()
        key = (path, text)
        if path not in self._paths or self._rows.setdefault(key, first) != first:
            return parse_text(path, first, text)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        self._kept[key] = parsed = parse_text(path, first, text)
        self._characters += len(text)
        while self._characters > _MOST_CHARACTERS and len(self._kept) > 1:
            (_, dropped), _ = self._kept.popitem(last=False)
            self._characters -= len(dropped)
        return parsed

    def forget(self, path: str) -> None:
        """Drop the units of a file."""
        for key in [key for key in self._kept if key[0] == path]:
            del self._kept[key]
            self._characters -= len(key[1])
