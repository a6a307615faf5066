"""On which node of libcst a finding stands: `ast` has found the place, and libcst says what is there.

Only the rows of a function, class or statement with a finding are parsed, and libcst is loaded with the first of them.
"""

from __future__ import annotations

from typing import TypeAlias

from jaxlint.cst.parsed import ParsedRows
from jaxlint.cst.places import Rows
from jaxlint.syntax.by_text import ByText
from jaxlint.syntax.expressions import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jaxlint.cst.trees import Tree

#: The range of the node at a place, counted from the first of the rows that hold it; None if libcst cannot say.
StoredAnchors: TypeAlias = ByText["Span | None"]

#: How many letters of a file are parsed to anchor its findings: some five seconds. Those behind stand where `ast` says.
_MOST_LETTERS = 500_000


class Anchors:
    """The nodes of the findings of one file."""

    def __init__(self, parsed: ParsedRows, stored: StoredAnchors | None = None) -> None:
        self.parsed = parsed
        self._stored = stored
        self._rows: set[Rows] = set()
        self._letters = 0

    def of(self, place: Span) -> Span | None:
        """The range of the node that stands at a place, with columns in code points; None if libcst cannot say."""
        rows = self.parsed.rows_around(place)
        if rows is None or not self._has_room(rows):
            return None
        if self._stored is None:
            return self._find(place, rows)
        first = rows[0]
        key = self.parsed.text_of(rows), _raised(place, -first)
        if key not in self._stored:
            found = self._find(place, rows)
            self._stored[key] = None if found is None else _raised(found, -first)
        known = self._stored[key]
        return None if known is None else _raised(known, first)

    def _has_room(self, rows: Rows) -> bool:
        if rows not in self._rows:
            self._rows.add(rows)
            self._letters += len(self.parsed.text_of(rows))
        return self._letters <= _MOST_LETTERS

    def _find(self, place: Span, rows: Rows) -> Span | None:
        try:
            tree = self.parsed.tree(rows)
            return None if tree is None else anchor(tree, place)
        except RecursionError:
            self.parsed.forget(rows)
            return None


def anchor(tree: Tree, place: Span) -> Span | None:
    """The range of the node at a place, or of the head of one: a name behind `def`, a parameter without its default.

    What is no node is a part of one: then it is that of the innermost node around it.
    """
    if tree.has(place) or place in tree.heads:
        return place
    return tree.innermost(place)


def _raised(place: Span, rows: int) -> Span:
    return place._replace(row=place.row + rows, end_row=place.end_row + rows)
