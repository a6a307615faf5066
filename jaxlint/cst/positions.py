"""Where the nodes of a libcst tree stand, and the text that the tree is printed as: both in one pass.

These are the places of libcst's `PositionProvider` (`tests/cst/test_positions.py`), which takes several times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

_ROW_END = re.compile(r"\r\n?|\n")


class Positions(CodegenState):
    """Notes what libcst prints, and where."""

    def __init__(self, module: cst.Module, row: int) -> None:
        """Print a module whose first row is `row` of a file."""
        super().__init__(module.default_indent, module.default_newline)
        self.row, self.column = row, 0
        #: The nodes, those inside of others before them, and by identity their rows and columns.
        self.nodes: list[cst.CSTNode] = []
        self.places: dict[int, tuple[int, int, int, int]] = {}
        #: Of each statement, by identity, its first row, with the comments above it, and the row behind its last one.
        self.rows: dict[int, tuple[int, int]] = {}
        #: What each row of a statement begins with.
        self.indents: dict[int, tuple[str, ...]] = {}
        self._starts: list[tuple[int, int]] = []
        module._codegen(self)
        self.code = "".join(self.tokens)

    def put(self, node: cst.CSTNode, place: tuple[int, int, int, int]) -> None:
        """Note where a node stands."""
        if id(node) not in self.places:
            self.nodes.append(node)
        self.places[id(node)] = place

    # -- what libcst calls ------------------------------------------------------------------

    def add_indent_tokens(self) -> None:
        """The indentation of a row is printed."""
        for token in self.indent_tokens:
            self.add_token(token)

    def add_token(self, value: str) -> None:
        """Something is printed."""
        self.tokens.append(value)
        if "\n" in value or "\r" in value:
            rows = _ROW_END.split(value)
            self.row += len(rows) - 1
            self.column = len(rows[-1])
        else:
            self.column += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        """A node begins, with the blanks and comments that it owns."""
        self._starts.append((self.row, self.column))

    def after_codegen(self, node: cst.CSTNode) -> None:
        """A node ends."""
        start = self._starts.pop()
        if id(node) not in self.places:
            self.put(node, (*start, self.row, self.column))
        if isinstance(node, cst.BaseStatement):
            self.rows[id(node)] = start[0], self.row
            self.indents[id(node)] = tuple(self.indent_tokens)

    def record_syntactic_position(self, node: cst.CSTNode, **ends: Any) -> Any:
        """A node without its blanks is printed meanwhile, or from `start_node` to `end_node`."""
        return _Syntactic(self, node, **ends)


class _Syntactic:
    """Notes where a node stands without its blanks, while that is printed."""

    __slots__ = ("_end", "_node", "_positions", "_start")

    def __init__(
        self,
        positions: Positions,
        node: cst.CSTNode,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> None:
        self._positions = positions
        self._node = node
        self._start: Any = start_node
        self._end = end_node

    def __enter__(self) -> None:
        if self._start is None:
            self._start = self._positions.row, self._positions.column

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        done = self._positions
        start = self._start if isinstance(self._start, tuple) else done.places[id(self._start)][:2]
        end = (done.row, done.column) if self._end is None else done.places[id(self._end)][2:]
        done.put(self._node, (*start, *end))


def printed(nodes: Iterable[cst.CSTNode], module: cst.Module, indents: Iterable[str]) -> str:
    """The text of statements that stand in a module as deep as these indents say."""
    state = CodegenState(module.default_indent, module.default_newline)
    for indent in indents:
        state.increase_indent(indent)
    for node in nodes:
        node._codegen(state)
    return "".join(state.tokens)
