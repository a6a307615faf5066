"""The libcst node of a function that was read, for rules that are written with `libcst.matchers`."""

from __future__ import annotations

import libcst as cst

from jaxlint.cst.declaring import declared_at
from jaxlint.cst.places import Blocks
from jaxlint.cst.trees import Tree
from jaxlint.infer.events import CodeRead, Event
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Span
from jaxlint.syntax.source import Source


class FunctionNode:
    """A function as libcst sees it, and what jaxlint knows of its nodes.

    `node` is its definition, `module` the module of libcst around it, which holds nothing else, for `code_for_node`.
    """

    def __init__(self, code: CodeRead, node: cst.FunctionDef, tree: Tree, source: Source) -> None:
        """Use `read`."""
        self.code = code
        self.node = node
        self.module = tree.module
        self._tree = tree
        self._source = source
        self._events = {source.codepoints(place_of(event.at)): event for event in code.events}

    @classmethod
    def read(cls, code: CodeRead) -> FunctionNode | None:
        """Parse the rows of a function; None for statements outside of functions, and for what libcst cannot read."""
        if code.function is None:
            return None
        module = code.place.module
        rows = Blocks(module.outline).rows_around(code.function.at)
        tree = None if rows is None else Tree.parse(module.source, rows)
        if tree is None:
            return None
        node = declared_at(tree, code.function.at)
        return cls(code, node, tree, module.source) if isinstance(node, cst.FunctionDef) else None

    def event_at(self, node: cst.CSTNode) -> Event | None:
        """What happens at a node: the update of a call, the assignment to an attribute (see `jaxlint.infer.events`)."""
        return self._events.get(self._tree.place_of(node))

    def node_at(self, at: object) -> cst.BaseExpression | None:
        """The expression that stands at a place: the `at` of an event or of an expression of jaxlint."""
        return self._tree.expression_at(self._source.codepoints(place_of(at)))

    def place_of(self, node: cst.CSTNode) -> Span:
        """Where a node stands, as the `at` of a problem or of a change says it."""
        row, column, end_row, end_column = self._tree.place_of(node)
        bytes_before = self._source.utf8_column
        return Span(row, bytes_before(row, column), end_row, bytes_before(end_row, end_column))
