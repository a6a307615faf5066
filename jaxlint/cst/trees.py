"""The libcst tree of a few rows of a file: of one function, class or top-level statement.

The rows are parsed as they stand, with their decorators, comments and indentation; where they are indented, below a
line that is not there. Positions are those of the file: rows from 1, columns from 0 in code points.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeVar

import libcst as cst

from jaxlint.cst.places import Rows
from jaxlint.cst.positions import Positions, printed
from jaxlint.cst.shapes import children_of
from jaxlint.syntax.expressions import Span
from jaxlint.syntax.source import Source

_Node = TypeVar("_Node", bound=cst.CSTNode)

#: How many expressions may stand in one another.
_MOST_DEPTH = 400
#: What puts an expression into another one.
_NESTING = re.compile(r"[-(\[{.+*/%@&|^<>=~:,!]|\b(?:not|and|or|if|in|is|lambda|await|yield)\b")
#: Stands above rows that are indented.
_ROOF = "if 1:"


class Tree:
    """The tree of some rows of a source; `module` may begin with a line that the file does not have."""

    def __init__(self, source: Source, rows: Rows, module: cst.Module, roof: str, positions: Positions) -> None:
        """Use `parse`."""
        self.source = source
        self.rows = rows
        self.module = module
        self._roof = roof
        self._positions = positions

    @classmethod
    def parse(cls, source: Source, rows: Rows) -> Tree | None:
        """The tree of the rows, if libcst can read them and write them back as they are."""
        text = source.rows(*rows)
        newline = next((end for end in ("\r\n", "\n", "\r") if end in text), "\n")
        roof = _ROOF + newline if text[:1] in (" ", "\t", "\f") else ""
        if _nests_deeply(roof + text):
            return None
        try:
            module = cst.parse_module(roof + text)
            positions = Positions(module, rows[0] - bool(roof))
        except (cst.ParserSyntaxError, RecursionError, ValueError):
            return None
        return cls(source, rows, module, roof, positions) if positions.code == roof + text else None

    def holder(self, node: cst.CSTNode) -> cst.CSTNode:
        """The innermost statement around a node that can be printed alone, maybe itself; without one, the module."""
        outermost = cst.IndentedBlock if self._roof else (cst.IndentedBlock, cst.Module)
        while node is not self.module:
            around = self._parents[node]
            # an `elif` stands in no block, and whether the last line ends is known to the module alone
            if isinstance(node, cst.BaseStatement) and isinstance(around, outermost):
                return node if self.module.has_trailing_newline else self.module
            node = around
        return node

    def range_of(self, holder: cst.CSTNode) -> tuple[int, int]:
        """From where to where in the source the text of a statement or of the module goes."""
        first, end = self._positions.rows.get(id(holder), (self.rows[0], self.rows[1] + 1))
        return self.source.offset(first, 0), self.source.offset(end, 0)

    def text_of(self, holder: cst.CSTNode, new: Sequence[cst.CSTNode]) -> str:
        """The text with what is to stand in the place of a statement or of the module."""
        text = printed(new, self.module, self._positions.indents.get(id(holder), ()))
        return text.removeprefix(self._roof) if holder is self.module else text

    @cached_property
    def _nodes(self) -> dict[Span, list[cst.CSTNode]]:
        found: dict[Span, list[cst.CSTNode]] = {}
        for node in self._positions.nodes:
            found.setdefault(self.place_of(node), []).append(node)
        return found

    @cached_property
    def _parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        found: dict[cst.CSTNode, cst.CSTNode] = {}
        pending: list[cst.CSTNode] = [self.module]
        while pending:
            node = pending.pop()
            for child in children_of(node):
                found[child] = node
                pending.append(child)
        return found

    def place_of(self, node: cst.CSTNode) -> Span:
        """Where a node stands in the file, as `ast` has it: the brackets of a tuple or a generator are its own."""
        first = last = node
        if isinstance(node, (cst.Tuple, cst.GeneratorExp)) and node.lpar:
            first, last = node.lpar[-1], node.rpar[0]
        places = self._positions.places
        (row, column, _, _), (_, _, end_row, end_column) = places[id(first)], places[id(last)]
        return Span(row, column, end_row, end_column)

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

    def contains(self, node: cst.CSTNode) -> bool:
        """Whether a node is one of this tree."""
        return id(node) in self._positions.places

    def below(self, node: cst.CSTNode, kind: type[_Node]) -> Iterator[_Node]:
        """The nodes of a kind in a node, itself among them, in source order."""
        pending = [node]
        while pending:
            one = pending.pop()
            if isinstance(one, kind):
                yield one
            pending += reversed(list(children_of(one)))

    def has(self, place: Span) -> bool:
        """Whether a node stands at just this place."""
        return place in self._nodes

    @cached_property
    def heads(self) -> frozenset[Span]:
        """The places of `def name`, of parameters without their defaults, and of what stands in brackets, with them."""
        found: set[Span] = set()
        for node in self._positions.nodes:
            if isinstance(node, cst.FunctionDef):
                name, start = self.place_of(node.name), self.place_of(node)
                found.add(name._replace(row=start.row, column=start.column))
            elif isinstance(node, cst.Param) and node.annotation is not None:
                annotation = self.place_of(node.annotation)
                found.add(self.place_of(node)._replace(end_row=annotation.end_row, end_column=annotation.end_column))
            elif isinstance(node, cst.BaseExpression):
                for opened, closed in zip(node.lpar, reversed(node.rpar), strict=True):
                    first, last = self.place_of(opened), self.place_of(closed)
                    found.add(Span(first.row, first.column, last.end_row, last.end_column))
        return frozenset(found)

    def innermost(self, place: Span) -> Span | None:
        """The place of the smallest expression or simple statement that holds another place."""
        kinds = cst.BaseExpression, cst.BaseSmallStatement
        around = [self.place_of(node) for node in self._positions.nodes if isinstance(node, kinds)]
        holding = [one for one in around if one.holds(place)]
        return min(holding, key=lambda one: (one.end_row - one.row, one.end_column - one.column), default=None)

    def all(self, kind: type[_Node]) -> Sequence[_Node]:
        """All nodes of a kind."""
        return [node for node in self._positions.nodes if isinstance(node, kind)]


def _nests_deeply(text: str) -> bool:
    """Whether a text has expressions for which libcst takes the square of their depth, or more stack than there is."""
    if len(_NESTING.findall(text)) <= _MOST_DEPTH:
        return False
    try:
        level: list[ast.AST] = [ast.parse(text)]
    except SyntaxError:
        return False  # libcst may know a grammar that the running Python does not
    except (RecursionError, MemoryError):
        return True
    depth = {id(level[0]): 0}
    while level:
        below: list[ast.AST] = []
        for node in level:
            inner = depth[id(node)] + 1 if isinstance(node, ast.expr) else 0
            if inner > _MOST_DEPTH:
                return True
            for child in ast.iter_child_nodes(node):
                depth[id(child)] = inner
                below.append(child)
        level = below
    return False
