"""Imports that nobody needs any more once something was fixed."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence

from jaxlint.cst.edits import LINES
from jaxlint.finding import Edit
from jaxlint.fixes.names import no_longer_read
from jaxlint.libraries.packages import DISTRIBUTION_OF
from jaxlint.project.modules import Module
from jaxlint.symbols.outline import Import

#: Packages that nobody imports for the effect of the import.
_PLAIN = sys.stdlib_module_names | DISTRIBUTION_OF.keys() | {"numpy", "optax"}


def unused_imports(before: str, after: str, is_taken: Callable[[str], bool]) -> list[Edit]:
    """The edits that take out of a text what it imports, has read `before`, and does not mention any more.

    `is_taken` says whether other modules may take a name from it. What a comment stands beside stays.
    """
    names = {name for name in no_longer_read(before, after) if len(re.findall(rf"\b{name}\b", after)) == 1}
    if not names:
        return []
    lines = LINES.findall(after)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    edits: list[Edit] = []
    for statement in _parsed(after).body:
        if not isinstance(statement, (ast.Import, ast.ImportFrom)) or not _is_alone(statement, lines):
            continue
        unused = [one for one in statement.names if (name := _bound(one, statement)) in names and not is_taken(name)]
        if len(unused) == len(statement.names):
            edits.append(_without(statement, lines, offsets))
        elif unused:
            edits.append(_left_out(unused, statement, after, offsets))
    return edits


def takes(importers: Iterable[Module], module: Module, name: str) -> bool:
    """Whether a module that imports another one may take a name from it that it imports itself."""
    last = module.name.rpartition(".")[2]
    for importer in importers:
        bindings = [b for found in importer.outline.module_scope.bindings.values() for b in found]
        if importer.outline.star_imports or f"{last}.{name}" in importer.source.text:
            return True
        if any(isinstance(b, Import) and b.name == name and b.module.rpartition(".")[2] == last for b in bindings):
            return True
    return False


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _bound(one: ast.alias, statement: ast.Import | ast.ImportFrom) -> str:
    """The name that an import binds; nothing for one that may be there for what it does, or for others."""
    if isinstance(statement, ast.ImportFrom):
        package = "." if statement.level else statement.module or ""
    else:
        package = one.name
    is_plain = package.partition(".")[0] in _PLAIN and package != "__future__"
    if not is_plain or one.asname == one.name or ("." in one.name and not one.asname):
        return ""
    return one.asname or one.name


def _is_alone(statement: ast.stmt, lines: list[str]) -> bool:
    """Whether no comment and no other statement stands in the lines of a statement."""
    own = lines[statement.lineno - 1 : statement.end_lineno]
    is_plain = all(line.isascii() and "#" not in line and ";" not in line for line in own)
    return is_plain and statement.col_offset == 0 and not own[-1][statement.end_col_offset or 0 :].strip()


def _without(statement: ast.stmt, lines: list[str], offsets: list[int]) -> Edit:
    """The edit that takes out the lines of a statement, and one of two blank lines around it."""
    first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
    is_apart = first == 0 or not lines[first - 1].strip()
    if is_apart and last < len(lines) and not lines[last].strip():
        last += 1
    return Edit(offsets[first], offsets[last], "")


def _left_out(
    unused: Sequence[ast.alias], statement: ast.Import | ast.ImportFrom, text: str, offsets: list[int]
) -> Edit:
    """The edit that takes some names out of an import of several; the others stand apart as the first two did."""
    spans = [
        (offsets[one.lineno - 1] + one.col_offset, offsets[(one.end_lineno or 1) - 1] + (one.end_col_offset or 0))
        for one in statement.names
    ]
    between = text[spans[0][1] : spans[1][0]]
    used = [text[start:end] for one, (start, end) in zip(statement.names, spans, strict=True) if one not in unused]
    return Edit(spans[0][0], spans[-1][1], between.join(used))
