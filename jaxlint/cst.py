"""libcst, as far as jaxlint uses it: reading a unit, and positions on demand.

No libcst visitor, matcher or metadata provider is used: they cost many times the parse
(facts/perf.md). Positions are computed only for nodes that are reported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

import libcst as cst
from libcst._nodes.internal import CodegenState

_BRACKETS = re.compile(r"[\[\](){}]")


#: Python's own limit for nested brackets; libcst's parser has none and overflows the stack.
_MAX_BRACKETS = 200
#: Beyond this depth of the syntax tree libcst takes seconds (its time grows with the square of the depth).
_MAX_TREE_DEPTH = 600
_LONG_UNIT = 4000


def nests_too_deep(text: str) -> bool:
    """Whether brackets nest deeper than Python allows (brackets inside strings are counted too)."""
    depth = 0
    for bracket in _BRACKETS.findall(text):
        depth += 1 if bracket in "([{" else -1
        if depth > _MAX_BRACKETS:
            return True
    return False


def _is_too_deep(text: str) -> bool:
    """Whether libcst should not be given the text. Only a long text can be that deep."""
    if len(text) < _LONG_UNIT:
        return False
    if nests_too_deep(text):
        return True
    try:
        level: list[ast.AST] = [ast.parse(text)]
    except SyntaxError:
        return False
    except (ValueError, RecursionError, MemoryError):
        return True
    for _ in range(_MAX_TREE_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def parse_unit(text: str) -> cst.Module | None:
    """The libcst tree of some top-level statements, or None if libcst cannot (or should not) read them."""
    if _is_too_deep(text):
        return None
    try:
        return cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError, MemoryError, ValueError, TypeError):
        return None
    except BaseException as error:  # the native parser reports its own failures as PanicException
        if type(error).__name__ == "PanicException":
            return None
        raise


class _Positions(CodegenState):
    """A code generation that notes where the wanted nodes start and end."""

    def __init__(self, module: cst.Module, wanted: set[int]) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.wanted = wanted
        self.row = 1
        self.column = 0
        self.starts: dict[int, tuple[int, int]] = {}
        self.found: dict[int, tuple[int, int, int, int]] = {}

    def add_token(self, value: str) -> None:
        super().add_token(value)
        self._advance(value)

    def add_indent_tokens(self) -> None:
        super().add_indent_tokens()
        for token in self.indent_tokens:
            self._advance(token)

    def _advance(self, value: str) -> None:
        if "\n" in value or "\r" in value:
            parts = value.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            self.row += len(parts) - 1
            self.column = len(parts[-1])
        else:
            self.column += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted:
            self.starts[id(node)] = (self.row, self.column)

    def after_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted and id(node) not in self.found:
            self.found[id(node)] = (*self.starts[id(node)], self.row, self.column)

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Syntactic:
        return _Syntactic(self, node)


class _Syntactic:
    """Notes the range of a node without the parentheses and white space around it."""

    def __init__(self, state: _Positions, node: cst.CSTNode) -> None:
        self.state = state
        self.node = node
        self.start = (0, 0)

    def __enter__(self) -> None:
        self.start = (self.state.row, self.state.column)

    def __exit__(self, *error: object) -> None:
        if id(self.node) in self.state.wanted:
            self.state.found[id(self.node)] = (*self.start, self.state.row, self.state.column)


def positions(module: cst.Module, nodes: Iterable[cst.CSTNode]) -> dict[int, tuple[int, int, int, int]]:
    """Where `nodes` of `module` stand, by `id(node)`: rows from 1, columns from 0 in code points, end exclusive."""
    state = _Positions(module, {id(n) for n in nodes})
    module._codegen(state)
    return state.found
