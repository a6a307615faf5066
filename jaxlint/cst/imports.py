"""How the names of libraries are written in a module, and imports that a fix needs."""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Iterator
from itertools import groupby, takewhile

from jaxlint.cst.changes import NeededImport
from jaxlint.finding import Edit
from jaxlint.libraries.packages import USUAL_IMPORTS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, Resolver
from jaxlint.symbols.outline import Import, Outline, Unit
from jaxlint.syntax.expressions import Attribute, Name, Span
from jaxlint.syntax.source import Source

#: How packages are usually imported.
_USUAL = {package: NeededImport(*parts) for package, parts in USUAL_IMPORTS.items()}
#: What is loaded with a package.
_PARTS = {"jax": frozenset({"tree", "tree_util", "numpy", "lax", "random"})}
#: How a line begins that is text and not code.
_STRING = re.compile(r"[rRuUbB]{0,2}[\"']")
_NOWHERE = Span(0, 0, 0, 0)


def spelled(
    full: str, module: Module, resolver: Resolver, scope: str = ""
) -> tuple[str, tuple[NeededImport, ...]] | None:
    """How a dotted name of a library is written in a scope of a module, and the import that this needs.

    None if the name that it would be imported by means something else.
    """
    package, _, attr = full.rpartition(".")
    for name, is_member in _imported(module.outline, package, attr):
        written = Name(_NOWHERE, name)
        meant = resolver.resolve(written if is_member else Attribute(_NOWHERE, written, attr), module, scope)
        if isinstance(meant, External) and meant.name == full:
            return (name if is_member else f"{name}.{attr}"), ()
    for name in _loaded(package, module, resolver, scope):
        return f"{name}.{attr}", ()
    needed = _USUAL.get(package, NeededImport(package))
    bound = needed.alias or needed.name or package
    taken = any(bound in one.bindings for one in module.outline.scopes.values())
    if "." in bound or taken or hasattr(builtins, bound) or module.outline.star_imports:
        return None
    return f"{bound}.{attr}", (needed,)


def _loaded(package: str, module: Module, resolver: Resolver, scope: str) -> Iterator[str]:
    """How a part of a package is written that is loaded with it."""
    root, _, rest = package.partition(".")
    if rest in _PARTS.get(root, ()):
        for name, _ in _imported(module.outline, root, ""):
            meant = resolver.resolve(Attribute(_NOWHERE, Name(_NOWHERE, name), rest), module, scope)
            if isinstance(meant, External) and meant.name == package:
                yield f"{name}.{rest}"


def _imported(outline: Outline, package: str, attr: str) -> Iterator[tuple[str, bool]]:
    """The names by which the top level of a module knows a package, or its member `attr`, as the flag says."""
    for name, bindings in outline.module_scope.bindings.items():
        for binding in bindings:
            if not isinstance(binding, Import) or binding.level or binding.guard:
                continue
            origin = binding.module if binding.name is None else f"{binding.module}.{binding.name}"
            if origin == f"{package}.{attr}" and binding.name is not None:
                yield name, True
            elif origin == package and (binding.name is not None or "." not in package or name != package):
                yield name, False


def import_edit(needed: NeededImport, source: Source, outline: Outline, below: int) -> Edit:
    """The edit that adds an import at the top of a module, where it belongs: above the row in which it is needed."""
    newline = next((end for end in ("\r\n", "\n", "\r") if end in source.text), "\n")
    units = list(outline.units)
    if units and _STRING.match(source.line(units[0].first)):
        units = units[1:]
    top = _neighbours(str(needed), units, source, below)
    others = [unit for unit in top if not source.line(unit.first).startswith("from __future__")]
    key = _key(str(needed))
    for unit in others:
        other = _key(source.line(unit.first))
        if other > key:
            return _inserted(source, unit.first, f"{needed}{newline}{newline if other[0] != key[0] else ''}")
    if others:
        blank = newline if _key(source.line(others[-1].first))[0] != key[0] else ""
        return _inserted(source, others[-1].last + 1, f"{blank}{needed}{newline}")
    if top:
        return _inserted(source, top[-1].last + 1, f"{newline}{needed}{newline}")
    return _inserted(source, units[0].first if units else len(source.lines) + 1, f"{needed}{newline}{newline}")


def _neighbours(needed: str, units: list[Unit], source: Source, below: int) -> list[Unit]:
    """The imports in a row to which another one is added: those of its package, else the last ones of its kind.

    What stands between such rows counts for the imports below it, as `sys.path.insert(...)` and `os.environ[...] = ...`
    do. The standard library is nothing to them, and goes to the top.
    """
    above = takewhile(lambda unit: unit.kind != "definition" and unit.last < below, units)
    rows = [list(row) for is_import, row in groupby(above, lambda unit: unit.kind == "import") if is_import]
    is_library, _, name = _key(needed)
    known = [[_key(source.line(unit.first)) for unit in row] for row in rows]
    same = [row for row, keys in zip(rows, known, strict=True) if any(_root(key[2]) == _root(name) for key in keys)]
    alike = [row for row, keys in zip(rows, known, strict=True) if any(key[0] == is_library for key in keys)]
    if not is_library:
        return next(iter(alike or rows), [])
    return (same[:1] or alike[-1:] or rows[-1:] or [[]])[0]


def _inserted(source: Source, row: int, text: str) -> Edit:
    at = source.offset(row, 0)
    if at and source.text[at - 1] not in "\r\n":
        text = "\n" + text
    return Edit(at, at, text)


def _key(statement: str) -> tuple[bool, bool, str]:
    """Where an import belongs: the standard library first, `import` before `from`, by name."""
    words = statement.split()
    name = words[1] if len(words) > 1 else ""
    is_from = statement.startswith("from")
    return _root(name) not in sys.stdlib_module_names, is_from, name


def _root(name: str) -> str:
    return name.partition(".")[0]
