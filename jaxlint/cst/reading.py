"""The libcst node of a function that was read, for rules that look at the shape of code.

Nothing is parsed, and libcst is not loaded, before a node is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from jaxlint.cst.parsed import ParsedRows
from jaxlint.infer.evaluating.events import CodeRead, Event
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Call, Span
from jaxlint.syntax.statements import Return

if TYPE_CHECKING:
    import libcst as cst

    from jaxlint.cst.trees import Tree

    _Node = TypeVar("_Node", bound=cst.CSTNode)


class NotRead(Exception):
    """libcst cannot read the code that was asked for, or it is no function with a `def`."""


class FunctionNode:
    """A function as libcst sees it, and what jaxlint knows of its nodes.

    `node` is its definition, `module` the module of libcst around it, which holds nothing else, for `code_for_node`.
    What cannot be had raises `NotRead`, with which the rule has nothing more to say of the function.
    """

    def __init__(self, code: CodeRead) -> None:
        self.code = code
        #: The trees that were asked for, which is one if no function is defined in a lambda.
        self._trees: list[Tree] = []

    @cached_property
    def _parsed(self) -> ParsedRows:
        return ParsedRows.of(self.code.place.module)

    @cached_property
    def node(self) -> cst.FunctionDef:
        """The definition of the function; lambdas and top-level statements have none."""
        import libcst as cst

        from jaxlint.cst.declaring import declared_at
        from jaxlint.cst.rewriting import CannotChange

        if self.code.function is None or self.code.function.name == "<lambda>":
            raise NotRead
        try:
            found = declared_at(self._tree_around(self.code.function.at), self.code.function.at)
        except CannotChange:
            raise NotRead from None
        if not isinstance(found, cst.FunctionDef):
            raise NotRead
        return found

    @property
    def body(self) -> cst.BaseSuite | cst.BaseExpression | cst.Module:
        """The statements of the function, what it is if it is a lambda, or the file around top-level statements."""
        match self.code:
            case CodeRead(function=None):
                return self._tree_around(Span(1, 0, 1, 0)).module
            case CodeRead(function=Function(name="<lambda>"), body=(Return(value=value),)) if value is not None:
                return self.node_at(value.at)
        return self.node.body

    @property
    def module(self) -> cst.Module:
        """The module around the node."""
        return self._tree_of(self.node).module

    def _tree_around(self, place: Span) -> Tree:
        every = 1, len(self._parsed.source.lines)
        rows = every if self.code.function is None else self._parsed.rows_around(place)
        tree = None if rows is None else self._parsed.tree(rows)
        if tree is None:
            raise NotRead
        if tree not in self._trees:
            self._trees.append(tree)
        return tree

    def _tree_of(self, node: cst.CSTNode) -> Tree:
        return next(tree for tree in self._trees if tree.contains(node))

    @cached_property
    def _events(self) -> dict[Span, Event]:
        return {self._locate(event.at): event for event in self.code.events}

    @cached_property
    def _calls(self) -> dict[Span, Call]:
        return {self._locate(call.at): call for call in self.code.calls}

    def event_at(self, node: cst.CSTNode) -> Event | None:
        """What happens at a node: the update of a call, the assignment to an attribute."""
        return self._events.get(self._tree_of(node).place_of(node))

    def call_at(self, node: cst.CSTNode) -> Call | None:
        """What jaxlint knows a call as, to ask what its parts are."""
        return self._calls.get(self._tree_of(node).place_of(node))

    def node_at(self, at: object) -> cst.BaseExpression:
        """The expression that stands at a place: the `at` of an event or of an expression of jaxlint."""
        place = self._locate(at)
        node = self._tree_around(place).expression_at(place)
        if node is None:
            raise NotRead
        return node

    def all(self, kind: type[_Node], within: cst.CSTNode) -> Iterator[_Node]:
        """All nodes of a kind in a node, in source order; those of functions inside are among them."""
        return self._tree_of(within).below(within, kind)

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around a node, from the innermost to the module."""
        return self._tree_of(node).around(node)

    def place_of(self, node: cst.CSTNode) -> Span:
        """Where a node stands, as the `at` of a problem or of a change says it."""
        row, column, end_row, end_column = self._tree_of(node).place_of(node)
        bytes_before = self._parsed.source.utf8_column
        return Span(row, bytes_before(row, column), end_row, bytes_before(end_row, end_column))

    def _locate(self, at: object) -> Span:
        return self._parsed.source.codepoints(place_of(at))
