"""Long tables: a tree of them takes a hundred times the room of their text, and shows nothing.

Of a table of literals the first item stays; of one that holds names or calls, as many as make a table.
"""

from __future__ import annotations

import re
from functools import cache

#: Shorter texts are parsed as they are.
LONG = 1_000_000
#: So many items in a row are a table.
_MANY = 200

#: Rows of a table have no more items, or are tables themselves.
_MOST = 500

_LITERAL = r"""(?:[-+]?\.?\d[\w.]*(?:(?<=[eE])[-+]\d+)?|"[^"\\\n]*"|'[^'\\\n]*')"""
_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_CONSTANT = rf"(?:{_LITERAL}|True\b|False\b|None\b)"
_KEYWORD = r"(?:[^\W\d]\w*\s*=\s*)?"
#: What stands before the first item of a list, a set, a dict or a tuple, and not of a call, a `def` or an import.
_OPENS = re.compile(r"(?:[\[{]|(?:[=\[({,:]|^)\s*\()\s*\Z")
_NO_BREAK = re.compile(r"[^\r\n]")


def _entry(value: str) -> str:
    return rf"(?:{_CONSTANT}\s*:\s*)?{value}"


def _items(entry: str) -> str:
    return rf"(?:\s*{entry}\s*,){{0,{_MOST}}}\s*(?:{entry}\s*)?"


def _display(entry: str) -> str:
    return rf"[\[({{]{_items(entry)}[\])}}]"


def _call(argument: str) -> str:
    """A name, or the call of one."""
    return rf"{_NAME}(?:\({_items(_KEYWORD + argument)}\))?"


@cache
def _item(*, is_named: bool) -> re.Pattern[str]:
    """An item of a table, of literals or with names and calls in it; to compile this takes as long as a small file."""
    if is_named:
        plain = rf"(?:{_LITERAL}|{_NAME})"
        inner = rf"(?:{_LITERAL}|{_call(plain)})"
        item = rf"(?:{_LITERAL}|{_call(inner)}|{_display(_entry(inner))})"
    else:
        row = _display(_entry(_CONSTANT))
        item = rf"(?:{_CONSTANT}|{_display(_entry(rf'(?:{_CONSTANT}|{row})'))})"
    return re.compile(rf"(?<![\w.\"']){_entry(item)}\s*,\s*")


def without_tables(text: str) -> str:
    """The text with blanks in the place of all but the first items of long tables; each row stays where it is."""
    short = _shortened(text, is_named=False)
    return _shortened(short, is_named=True) if len(short) - short.count(" ") > LONG else short


def _shortened(text: str, *, is_named: bool) -> str:
    pieces: list[str] = []
    done = begin = first = end = count = 0
    stay = _MANY if is_named else 1

    def cut() -> int:
        """Leave out the items of a table that do not stay; returns where the text goes on."""
        if count <= _MANY or (is_named and (count == stay or not _OPENS.search(text, max(begin - 200, 0), begin))):
            return done
        pieces.extend((text[done:first], _NO_BREAK.sub(" ", text[first:end])))
        return end

    for item in _item(is_named=is_named).finditer(text):
        if item.start() != end:
            done = cut()
            begin, count = item.start(), 0
        count += 1
        if count == stay + 1:
            first = item.start()
        end = item.end()
    done = cut()
    return "".join([*pieces, text[done:]])
