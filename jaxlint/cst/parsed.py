"""The libcst trees of a file: of those rows that somebody asks for, each parsed once."""

from __future__ import annotations

from functools import cached_property

from jaxlint.cst.places import Blocks, Rows
from jaxlint.project.modules import Module
from jaxlint.symbols.outline import Outline
from jaxlint.syntax.expressions import Span
from jaxlint.syntax.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jaxlint.cst.trees import Tree


class ParsedRows:
    """The functions, classes and statements of a file that were parsed; libcst is loaded with the first."""

    def __init__(self, source: Source, outline: Outline) -> None:
        self.source = source
        self._outline = outline
        self._trees: dict[Rows, Tree | None] = {}

    @classmethod
    def of(cls, module: Module) -> ParsedRows:
        """Those of a module, the same for rules, anchors and fixes until its text is forgotten."""
        shared = module.source.shared
        if cls not in shared:
            shared[cls] = cls(module.source, module.outline)
        found: ParsedRows = shared[cls]
        return found

    @cached_property
    def _blocks(self) -> Blocks:
        return Blocks(self._outline)

    def rows_around(self, place: Span) -> Rows | None:
        """The rows that have to be parsed to see what stands at a place; None if that is no code."""
        return self._blocks.rows_around(place)

    def text_of(self, rows: Rows) -> str:
        """The text of some rows."""
        return self.source.rows(*rows)

    def tree(self, rows: Rows) -> Tree | None:
        """The tree of some rows; None if libcst cannot read them."""
        from jaxlint.cst.trees import Tree

        if rows not in self._trees:
            self._trees[rows] = Tree.parse(self.source, rows)
        return self._trees[rows]

    def forget(self, rows: Rows) -> None:
        """Take the tree of some rows for one that libcst cannot read: they nest too deeply for it."""
        self._trees[rows] = None
