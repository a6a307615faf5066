"""The libcst tree of a few rows of a file: of one function, class or top-level statement.

The rows are parsed as they stand, with their decorators, comments and indentation; where they are indented, below a
line that is not there. Positions are those of the file: rows from 1, columns from 0 in code points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from typing import TypeVar

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from jaxlint.cst.places import Rows
from jaxlint.syntax.expressions import Span
from jaxlint.syntax.source import Source

_Node = TypeVar("_Node", bound=cst.CSTNode)

#: Stands above rows that are indented.
_ROOF = "if 1:"


class Tree:
    """The tree of some rows of a source; `module` may begin with a line that the file does not have."""

    def __init__(self, source: Source, rows: Rows, module: cst.Module, roof: str) -> None:
        """Use `parse`."""
        self.source = source
        self.rows = rows
        self.module = module
        self._roof = roof

    @classmethod
    def parse(cls, source: Source, rows: Rows) -> Tree | None:
        """The tree of the rows, if libcst can read them and write them back as they are."""
        first, last = rows
        text = source.text[source.offset(first, 0) : source.offset(last + 1, 0)]
        newline = next((end for end in ("\r\n", "\n", "\r") if end in text), "\n")
        roof = _ROOF + newline if text[:1] in (" ", "\t", "\f") else ""
        try:
            module = cst.parse_module(roof + text)
        except (cst.ParserSyntaxError, RecursionError, ValueError):
            return None
        return cls(source, rows, module, roof) if module.code == roof + text else None

    @property
    def start(self) -> int:
        """The offset in the source at which the rows start."""
        return self.source.offset(self.rows[0], 0)

    @property
    def text(self) -> str:
        """The text of the rows."""
        return self.source.text[self.start : self.source.offset(self.rows[1] + 1, 0)]

    def text_of(self, module: cst.Module) -> str:
        """The text of the rows as another module says, which was made from that of the tree."""
        return module.code.removeprefix(self._roof)

    @cached_property
    def _ranges(self) -> dict[cst.CSTNode, CodeRange]:
        # the copy that is left out would only protect from nodes that stand in two places, which no parser makes
        found = MetadataWrapper(self.module, unsafe_skip_copy=True).resolve(PositionProvider)
        return {node: place for node, place in found.items() if isinstance(place, CodeRange)}

    @cached_property
    def _nodes(self) -> dict[Span, list[cst.CSTNode]]:
        found: dict[Span, list[cst.CSTNode]] = {}
        for node in self._ranges:
            found.setdefault(self.place_of(node), []).append(node)
        return found

    @cached_property
    def _parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        found: dict[cst.CSTNode, cst.CSTNode] = {}
        pending: list[cst.CSTNode] = [self.module]
        while pending:
            node = pending.pop()
            for child in _children(node):
                found[child] = node
                pending.append(child)
        return found

    def place_of(self, node: cst.CSTNode) -> Span:
        """Where a node stands in the file, as `ast` has it: the brackets of a tuple or a generator are its own."""
        first = last = node
        if isinstance(node, (cst.Tuple, cst.GeneratorExp)) and node.lpar:
            first, last = node.lpar[-1], node.rpar[0]
        start, end = self._ranges[first].start, self._ranges[last].end
        before = self.rows[0] - 1 - bool(self._roof)
        return Span(start.line + before, start.column, end.line + before, end.column)

    def node_at(self, place: Span, kind: type[_Node]) -> _Node | None:
        """The outermost node of a kind that stands at just this place."""
        return next((node for node in self._nodes.get(place, ()) if isinstance(node, kind)), None)

    def expression_at(self, place: Span) -> cst.BaseExpression | None:
        """The expression that stands at just this place."""
        return next((node for node in self._nodes.get(place, ()) if isinstance(node, cst.BaseExpression)), None)

    def statement_of(self, node: cst.CSTNode) -> cst.BaseSmallStatement | None:
        """The statement without a block that a node stands in."""
        return next((one for one in self.around(node) if isinstance(one, cst.BaseSmallStatement)), None)

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around a node, from the innermost to the module."""
        while node is not self.module:
            node = self._parents[node]
            yield node

    def nearest(self, node: cst.CSTNode, kind: type[_Node]) -> _Node | None:
        """The innermost node of a kind around a node."""
        return next((one for one in self.around(node) if isinstance(one, kind)), None)

    def all(self, kind: type[_Node]) -> Sequence[_Node]:
        """All nodes of a kind."""
        return [node for node in self._ranges if isinstance(node, kind)]


def _children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes directly below a node; libcst's own `children` makes all of them anew to tell."""
    for one in fields(node):
        value = getattr(node, one.name)
        yield from (
            child
            for child in (value if isinstance(value, (list, tuple)) else (value,))
            if isinstance(child, cst.CSTNode)
        )
