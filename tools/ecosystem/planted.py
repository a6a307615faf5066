"""Bugs planted in real code: where it updates states rightly, it is changed as people get it wrong.

What share of them is found says what a user can hope for, in code that nobody wrote for that purpose. One kind of bug
is planted at a time, and at most one in a function, so that one does not hide another. Nothing is executed.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import libcst as cst
import libcst.matchers as m

from tools.ecosystem import sources

_REPLACE = m.Call(
    func=m.Attribute(value=m.Name(), attr=m.Name("replace") | m.Name("_replace")),
    args=[m.AtLeastN(m.Arg(keyword=m.Name()), n=1)],
)
_UPDATE = m.Call(
    func=m.Attribute(value=m.Subscript(value=m.Attribute(attr=m.Name("at"))), attr=m.Name("set")),
    args=[m.Arg(keyword=None, star="")],
)
_FLATTEN = m.Tuple(elements=[m.AtLeastN(m.Element(m.Attribute(value=m.Name("self"))), n=2)])
_IGNORED = frozenset({".git", ".hg", "node_modules", "__pycache__"})
#: A file without any of these holds no place where a bug can be planted.
_WORDS = ("replace(", ".at[", "tree_flatten")


class Planted(NamedTuple):
    """A function (`path::Class.method`) with a bug, and whether it was found."""

    place: str
    found: bool


class Kind(NamedTuple):
    """A kind of bug: the rules that should find it, and how a node is changed; None where it does not apply.

    Only in methods of one name, if one is given.
    """

    codes: frozenset[str]
    change: Callable[[cst.CSTNode], cst.CSTNode | None]
    method: str = ""


def _rebinding(node: cst.CSTNode, value: m.Call) -> tuple[cst.BaseExpression, cst.Call] | None:
    """The target and the call of `x = x.replace(...)`, or of `x.f = x.f.at[i].set(v)`."""
    if not isinstance(node, cst.Assign) or len(node.targets) != 1 or not m.matches(node.value, value):
        return None
    target, call = node.targets[0].target, cst.ensure_type(node.value, cst.Call)
    held = cst.ensure_type(call.func, cst.Attribute).value
    if m.matches(held, m.Subscript()):
        held = cst.ensure_type(cst.ensure_type(held, cst.Subscript).value, cst.Attribute).value
    return (target, call) if held.deep_equals(target) else None


def _discarded(node: cst.CSTNode) -> cst.CSTNode | None:
    found = _rebinding(node, _REPLACE)
    return None if found is None else cst.Expr(found[1])


def _discarded_at(node: cst.CSTNode) -> cst.CSTNode | None:
    found = _rebinding(node, _UPDATE)
    return None if found is None else cst.Expr(found[1])


def _assigned(node: cst.CSTNode) -> cst.CSTNode | None:
    found = _rebinding(node, _REPLACE)
    if found is None or len(found[1].args) != 1:
        return None
    given = found[1].args[0]
    attribute = cst.Attribute(found[0], cst.ensure_type(given.keyword, cst.Name))
    return _assignment(attribute, given.value)


def _item(node: cst.CSTNode) -> cst.CSTNode | None:
    found = _rebinding(node, _UPDATE)
    if found is None:
        return None
    place = cst.ensure_type(cst.ensure_type(found[1].func, cst.Attribute).value, cst.Subscript)
    target = cst.Subscript(found[0], place.slice)
    return _assignment(target, found[1].args[0].value)


def _assignment(target: cst.BaseAssignTargetExpression, value: cst.BaseExpression) -> cst.Assign:
    """What stood in the brackets of a call may need some of its own, over several lines."""
    bracketed = value.with_changes(lpar=[cst.LeftParen(), *value.lpar], rpar=[*value.rpar, cst.RightParen()])
    return cst.Assign([cst.AssignTarget(target)], bracketed)


def _misspelt(node: cst.CSTNode) -> cst.CSTNode | None:
    if not m.matches(node, _REPLACE):
        return None
    call = cst.ensure_type(node, cst.Call)
    first = call.args[0]
    name = cst.ensure_type(first.keyword, cst.Name)
    return call.with_changes(args=[first.with_changes(keyword=cst.Name(name.value + "_x")), *call.args[1:]])


def _exchanged(node: cst.CSTNode) -> cst.CSTNode | None:
    """`return (self.a, self.b), aux` or `children = (self.a, self.b)`; looked for in `tree_flatten` only."""
    if isinstance(node, cst.Return) and isinstance(node.value, cst.Tuple) and node.value.elements:
        changed = _swapped(node.value.elements[0].value)
        first = node.value.elements[0]
        rest = node.value.elements[1:]
        return (
            None
            if changed is None
            else node.with_deep_changes(node.value, elements=[first.with_changes(value=changed), *rest])
        )
    if isinstance(node, cst.Assign):
        changed = _swapped(node.value)
        return None if changed is None else node.with_changes(value=changed)
    return None


def _swapped(value: cst.BaseExpression) -> cst.Tuple | None:
    if not m.matches(value, _FLATTEN):
        return None
    children = cst.ensure_type(value, cst.Tuple)
    elements = list(children.elements)
    one, other = elements[:2]
    elements[:2] = [one.with_changes(value=other.value), other.with_changes(value=one.value)]
    return children.with_changes(elements=elements)


KINDS: Mapping[str, Kind] = {
    "discarded": Kind(frozenset({"JAX403"}), _discarded),
    "discarded-at": Kind(frozenset({"JAX403"}), _discarded_at),
    "assigned": Kind(frozenset({"JAX401", "JAX501"}), _assigned),
    "item": Kind(frozenset({"JAX413"}), _item),
    "misspelt": Kind(frozenset({"JAX402", "JAX404"}), _misspelt),
    "exchanged": Kind(frozenset({"JAX112"}), _exchanged, "tree_flatten"),
}


class _Planter(cst.CSTTransformer):
    """Plants a kind of bug once in each outermost function or method of a module that is chosen."""

    def __init__(self, kind: str, chosen: Collection[str] | None = None) -> None:
        super().__init__()
        self._kind = KINDS[kind]
        self._chosen = chosen
        self._around: list[tuple[str, bool]] = []
        #: The functions in which it was planted.
        self.planted: list[str] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            self._around.append((node.name.value, isinstance(node, cst.FunctionDef)))
        return True

    def on_leave(
        self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT
    ) -> cst.CSTNodeT | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNodeT]:
        if isinstance(original_node, (cst.FunctionDef, cst.ClassDef)):
            self._around.pop()
            return updated_node
        function = self._function()
        if function is None or function in self.planted or not function.endswith(self._kind.method):
            return updated_node
        if self._chosen is not None and function not in self._chosen:
            return updated_node
        changed = self._kind.change(updated_node)
        if changed is None:
            return updated_node
        self.planted.append(function)
        return changed  # type: ignore[return-value]

    def _function(self) -> str | None:
        """The name of the outermost function or method around, with its classes."""
        names: list[str] = []
        for name, is_function in self._around:
            names.append(name)
            if is_function:
                return ".".join(names)
        return None


def with_bugs(text: str, kind: str, chosen: Collection[str] | None = None) -> tuple[str, list[str]]:
    """A module with a kind of bug in each function where it can be planted (or in those chosen), and their names."""
    return _with_bugs(cst.parse_module(text), kind, chosen)


def _with_bugs(module: cst.Module, kind: str, chosen: Collection[str] | None = None) -> tuple[str, list[str]]:
    planter = _Planter(kind, chosen)
    return module.visit(planter).code, planter.planted


def _ranges(text: str) -> Iterator[tuple[str, int, int]]:
    """The functions and methods of a module, with their first and last rows."""
    pending: list[tuple[str, ast.AST]] = [("", ast.parse(text))]
    while pending:
        prefix, node = pending.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield prefix + child.name, child.lineno, child.end_lineno or child.lineno
            elif isinstance(child, ast.ClassDef):
                pending.append((f"{prefix}{child.name}.", child))
            else:
                pending.append((prefix, child))


def plant(jaxlint: Sequence[str], source: Path, kind: str, limit: int) -> list[Planted]:
    """Plant a kind of bug in at most so many functions of a copy of a source, and look which of them are found.

    A function in which the rules found something before is left as it is. Raises `sources.CheckFailed`.
    """
    places: list[tuple[Path, str]] = []
    for path in sorted(source.rglob("*.py")):
        module = _parsed(path)
        if module is not None:
            places += [(path, name) for name in _with_bugs(module, kind)[1]]
    if len(places) > limit:
        places = random.Random(0).sample(places, limit)
    if not places:
        return []
    with TemporaryDirectory() as folder:
        copy = Path(folder) / source.name
        shutil.copytree(source, copy, ignore=lambda _, names: [n for n in names if n in _IGNORED])
        before = _found(jaxlint, copy, kind, places, source)
        for path in {path for path, _ in places}:
            module = _parsed(path)
            if module is not None:
                text, _ = _with_bugs(module, kind, {name for where, name in places if where == path})
                (copy / path.relative_to(source)).write_text(text, encoding="utf-8")
        after = _found(jaxlint, copy, kind, places, source)
    return [
        Planted(f"{path.relative_to(source)}::{name}", (path, name) in after)
        for path, name in places
        if (path, name) not in before
    ]


def _found(
    jaxlint: Sequence[str], copy: Path, kind: str, places: Sequence[tuple[Path, str]], source: Path
) -> set[tuple[Path, str]]:
    """The functions in which one of the rules finds something."""
    found = sources.check(jaxlint, copy, ["--select", ",".join(sorted(KINDS[kind].codes))])
    rows: dict[str, list[int]] = {}
    for one in found:
        rows.setdefault(one.place.path, []).append(one.place.row)
    result: set[tuple[Path, str]] = set()
    for path in {path for path, _ in places}:
        relative = os.fspath(path.relative_to(source))
        for name, first, last in _ranges((copy / relative).read_text(encoding="utf-8")):
            if any(first <= row <= last for row in rows.get(relative, ())):
                result.add((path, name))
    return result


def _parsed(path: Path) -> cst.Module | None:
    """A file in which a bug may be planted, if libcst and the running Python can read it."""
    try:
        text = path.read_text(encoding="utf-8")
        if not any(word in text for word in _WORDS):
            return None
        ast.parse(text)
        return cst.parse_module(text)
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError, RecursionError, cst.ParserSyntaxError):
        return None
