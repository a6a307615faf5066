"""From the text of a module to its outline and its statements, whatever is wrong with the text.

A run in which nothing has changed parses nothing, and does not load this.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from jaxlint.symbols.collected import parse_tree
from jaxlint.symbols.outline import Outline
from jaxlint.symbols.outliner import build_outline
from jaxlint.symbols.tables import LONG
from jaxlint.symbols.trees import Trees
from jaxlint.syntax.deep_stack import with_deep_stack
from jaxlint.syntax.source import Source, Unreadable

#: The outline of what cannot be parsed.
EMPTY = build_outline(parse_tree(""), "")


def parse(
    source: Source, read: Callable[[str], Outline] | None = None, trees: Trees | None = None
) -> tuple[Outline, Unreadable | None]:
    """The outline of a source, or an empty one and why there is none; `read` reads a text if there is a shorter way.

    `trees` keep what was parsed.
    """
    text = source.text
    try:
        if read is not None:
            return _outline_read(text, read), None
        return outline_of(text, None if trees is None else partial(trees.keep, source.path, text)), None
    except SyntaxError as error:
        outline = _newer_grammar(text) if _may_be_newer(getattr(error, "piece", text)) else None
        return (outline, None) if outline is not None else (EMPTY, _syntax_problem(error, source))
    except (ValueError, RecursionError, MemoryError) as error:
        return EMPTY, _syntax_problem(error, source)


def _outline_read(text: str, read: Callable[[str], Outline]) -> Outline:
    """The outline of a text as `read` tells it, unless that takes too deep a stack."""
    try:
        return read(text)
    except RecursionError:
        return outline_of(text)


def outline_of(text: str, keep: Callable[[ast.Module], None] | None = None) -> Outline:
    """The outline of a text; `keep` is given what was parsed. Raises what `ast.parse` raises."""
    try:
        tree = parse_tree(text)
        outline = build_outline(tree, text)
    except RecursionError:
        return with_deep_stack(lambda: build_outline(parse_tree(text), text))
    if keep is not None and len(text) <= LONG:
        keep(tree)
    return outline


def read_statements(text: str, row: int) -> list[ast.stmt] | None:
    """The statements of a piece of a module that starts in row `row`; None if they nest too deeply."""
    if text.rstrip("\r\n").endswith("\\"):
        text += "\n\n"  # it goes on in a row of nothing, which is no part of the statement
    if row > _MOST_BLANK_ROWS * (text.count("\n") + 1):
        found = _read_piece(text)
        _move_down(list(found or ()), row - 1)
        return found
    return _read_piece("\n" * (row - 1) + text)


def _move_down(nodes: list[Any], rows: int) -> None:
    """Let nodes and all below them stand so many rows further down."""
    while nodes:
        fields = nodes.pop().__dict__
        if "lineno" in fields:
            fields["lineno"] += rows
            fields["end_lineno"] += rows
        for value in fields.values():
            if type(value) is list:
                nodes += [node for node in value if type(node) is not str and node is not None]
            elif isinstance(value, ast.AST):
                nodes.append(value)


def _read_piece(text: str) -> list[ast.stmt] | None:
    try:
        return parse_tree(text).body
    except SyntaxError:
        from jaxlint.syntax.grammar import rewrite

        rewritten = rewrite(text)
        return None if rewritten is None else _read_rewritten(rewritten)
    except RecursionError:
        return with_deep_stack(lambda: parse_tree(text).body)
    except (ValueError, MemoryError):
        return None


def _read_rewritten(text: str) -> list[ast.stmt] | None:
    try:
        return parse_tree(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


#: To parse so many empty rows takes as long as to count the rows of all nodes of one row that is not empty.
_MOST_BLANK_ROWS = 64

#: Type parameters and aliases, `except*`, `except A, B`, a star in an index or an annotation, template strings and
#: f-strings.
_NEWER = (
    r"(?m)\b(?:def|class)\s+\w+\s*\[|\btype\s+\w+\s*[\[=]|\bexcept\s*\*|\bexcept\s+[\w.]+\s*[,(]"
    r"|\[\s*\*|\[[^\]\n()]*,\s*\*\w|:\s*\*\w|\b(?:[fFtT][rR]?|[rR][fFtT])['\"]"
)


def _may_be_newer(text: str) -> bool:
    """Whether the grammar may be newer than the running Python; in an editor, texts are just not complete mostly."""
    return re.search(_NEWER, text) is not None


def _newer_grammar(text: str) -> Outline | None:
    """The outline of a text whose grammar is newer than the running Python; None if that is not the trouble."""
    from jaxlint.syntax.grammar import class_parameters, rewrite

    rewritten = rewrite(text)
    if rewritten is None:
        return None
    try:
        outline = outline_of(rewritten)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    parameters = class_parameters(text)
    for declared in outline.classes.values():
        declared.type_parameters = parameters.get(declared.name_at.row, ())
    return outline


def _syntax_problem(error: Exception, source: Source) -> Unreadable:
    """The finding for a file that no parser reads, with row and column from 1 where known."""
    if isinstance(error, SyntaxError):
        column = error.offset
        row = error.lineno
        if row is not None and row > len(source.lines):
            row, column = len(source.lines) or 1, None
        message = error.msg if error.msg == "invalid syntax" else f"invalid syntax: {error.msg}"
        return Unreadable(message, row, column if column and column > 0 else None)
    if isinstance(error, (RecursionError, MemoryError)):
        return Unreadable("too deeply nested to parse", None, None)
    return Unreadable(f"cannot be parsed: {error}", None, None)
