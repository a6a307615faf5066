"""Long tables of literals: a tree of them takes a hundred times the room of their text, and shows nothing."""

from __future__ import annotations

import re
from functools import cache

#: Shorter texts are parsed as they are.
LONG = 1_000_000
#: So many items in a row are a table.
_MANY = 200

#: Rows of a table have no more items, or are tables themselves.
_MOST = 500

_ATOM = r"""(?:[-+]?\.?\d[\w.]*(?:(?<=[eE])[-+]\d+)?|"[^"\\\n]*"|'[^'\\\n]*'|True\b|False\b|None\b)"""


def _entry(value: str) -> str:
    return rf"(?:{_ATOM}\s*:\s*)?{value}"


def _display(entry: str) -> str:
    return rf"[\[({{](?:\s*{entry}\s*,){{0,{_MOST}}}\s*(?:{entry}\s*)?[\])}}]"


_ROW = _display(_entry(_ATOM))
_BLOCK = _display(_entry(rf"(?:{_ATOM}|{_ROW})"))


@cache
def _item() -> re.Pattern[str]:
    """An item of a table; compiling it takes as long as a small file."""
    return re.compile(rf"(?<![\w.\"']){_entry(rf'(?:{_ATOM}|{_BLOCK})')}\s*,\s*")


_NO_BREAK = re.compile(r"[^\r\n]")


def without_tables(text: str) -> str:
    """The text with blanks in the place of all but the first items of long tables; each row stays where it is."""
    kept: list[str] = []
    done = first = end = count = 0
    for item in _item().finditer(text):
        if item.start() != end:
            if count > _MANY:
                kept += [text[done:first], _NO_BREAK.sub(" ", text[first:end])]
                done = end
            count = 0
        count += 1
        if count == 2:
            first = item.start()
        end = item.end()
    if count > _MANY:
        kept += [text[done:first], _NO_BREAK.sub(" ", text[first:end])]
        done = end
    return "".join([*kept, text[done:]])
