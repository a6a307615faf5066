"""The statements of modules as they were parsed for the outline: a module that is checked soon is not parsed again."""

from __future__ import annotations

import ast
import copy
from bisect import bisect_left
from collections.abc import Collection
from typing import Any

from jaxlint.symbols.outline import Unit

#: Of so many characters of source the statements stay, which is some 60 MB.
_MOST = 2_000_000


class Trees:
    """The statements of some modules, by their paths, until they are forgotten."""

    def __init__(self) -> None:
        self._found: dict[str, list[ast.stmt]] = {}
        self._room = _MOST

    def keep(self, path: str, text: str, tree: ast.Module) -> None:
        """Keep the statements of a module, if there is room for them."""
        if len(text) <= self._room:
            self._room -= len(text)
            self._found[path] = tree.body

    def forget(self, path: str) -> None:
        """Let go of the statements of a module, which need not be there."""
        self._found.pop(path, None)

    def statements(self, path: str, unit: Unit, left_out: Collection[int]) -> list[ast.stmt] | None:
        """The statements of a unit without the functions that end in the rows `left_out`; None if they are unknown."""
        body = self._found.get(path)
        if body is None:
            return None
        start = bisect_left(body, unit.first, key=_row)
        found = body[start : bisect_left(body, unit.last + 1, lo=start, key=_row)]
        return [_without(statement, left_out) for statement in found] if left_out else found


def _row(statement: ast.stmt) -> int:
    return statement.lineno


def _without(statement: Any, left_out: Collection[int]) -> Any:
    """A statement without the functions in it that end in some rows."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) or not hasattr(statement, "body"):
        return statement
    found = copy.copy(statement)
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        if hasattr(found, name):
            inside = [_without(s, left_out) for s in getattr(found, name) if not _is_function(s, left_out)]
            setattr(found, name, inside)
    return found


def _is_function(statement: ast.AST, rows: Collection[int]) -> bool:
    return isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.end_lineno in rows
