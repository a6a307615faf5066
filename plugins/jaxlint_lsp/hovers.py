"""Hovers: what a class, a field or a suppression comment means."""

from __future__ import annotations

import re

from lsprotocol import types

from jaxlint.editor.workspace import Workspace
from jaxlint.pytrees.framework import Role, Unflatten
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules import rules_by_selector
from jaxlint.rules.base import Rule
from jaxlint.suppression.comments import suppressions
from jaxlint.syntax.expressions import Attribute, Expr, Name, Span
from jaxlint_lsp.positions import Positions

_WORDS = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_ROLES = {
    Role.LEAF: "**leaf** of the pytree. Under `jit` it is traced: a new value of the same shape and type does not"
    " compile again. `grad`, `vmap` and `tree.map` see it",
    Role.STATIC: "**static**: part of the tree structure. Under `jit` it is a constant that is compared with `==` and"
    " hashed; every new value compiles again, so it must not hold an array",
    Role.DROPPED: "**ignored**: not in the pytree. Its value is lost whenever `jit`, `vmap` or `tree.map` rebuilds an"
    " instance",
}
_REBUILDING = {
    Unflatten.CONSTRUCTOR: "the constructor is called with the leaves, so `__init__` and `__post_init__` run on tracers"
    " and placeholders too",
    Unflatten.POST_INIT: "the fields are set, then `__post_init__` runs, on tracers and placeholders too",
    Unflatten.BYPASS: "the fields are set, and neither `__init__` nor `__post_init__` runs",
    Unflatten.CUSTOM: "by the class's own code",
}


class Hovers:
    """What is to be said at a place of the file `path`."""

    def __init__(self, workspace: Workspace, path: str, positions: Positions) -> None:
        self._workspace = workspace
        self._path = path
        self._positions = positions

    def at(self, row: int, column: int) -> types.Hover | None:
        """The hover for a row from 1 and a column in code points from 0."""
        return self._comment(row, column) or self._declaration(row, column) or self._use(row, column)

    def _comment(self, row: int, column: int) -> types.Hover | None:
        """The rules that a suppression comment names."""
        if "#" not in self._positions.source.line(row):
            return None
        for one in suppressions(self._positions.source):
            if one.row != row or not one.column - 1 <= column < one.end_column:
                continue
            known = rules_by_selector()
            for selector in one.selectors or ():
                rule = known.get(selector.text) or known.get(selector.text.upper())
                if rule is not None and selector.column - 1 <= column < selector.end_column:
                    start = self._positions.position(row, selector.column - 1)
                    end = self._positions.position(row, selector.end_column - 1)
                    return _hover(rule_text(rule), types.Range(start, end))
        return None

    def _declaration(self, row: int, column: int) -> types.Hover | None:
        """A class or a field that is declared here."""
        for cls in self._workspace.classes(self._path):
            if self._holds(cls.symbol.declaration.name_at, row, column):
                return _hover(self._class_text(cls), self._positions.of_span(cls.symbol.declaration.name_at))
            for declared in cls.symbol.declaration.fields:
                field = cls.field(declared.name)
                if field is not None and field.owner == cls.symbol and self._holds(declared.name_at, row, column):
                    return _hover(field_text(field, cls), self._positions.of_span(declared.name_at))
        return None

    def _use(self, row: int, column: int) -> types.Hover | None:
        """A class that is named here, or a field of `self`."""
        line = self._positions.source.line(row)
        for match in _WORDS.finditer(line):
            if match.start() <= column < match.end():
                names = line[match.start() : _end_of_word(line, match, column)].split(".")
                start = match.start() + len(".".join(names)) - len(names[-1])
                end = start + len(names[-1])
                where = types.Range(self._positions.position(row, start), self._positions.position(row, end))
                return self._named_class(names, where) or self._own_field(names, row, where)
        return None

    def _named_class(self, names: list[str], where: types.Range) -> types.Hover | None:
        cls = self._workspace.class_named(self._path, _expression(names), frozenset(names[:1]))
        return None if cls is None else _hover(self._class_text(cls), where)

    def _own_field(self, names: list[str], row: int, where: types.Range) -> types.Hover | None:
        if len(names) != 2 or names[0] != "self":
            return None
        around = [c for c in self._workspace.classes(self._path) if _spans(c.symbol.declaration.at, row)]
        for cls in reversed(around):
            field = cls.field(names[1])
            if field is not None:
                return _hover(field_text(field, cls), where)
        return None

    def _holds(self, span: Span, row: int, column: int) -> bool:
        source = self._positions.source
        if span.row != row or span.end_row != row:
            return False
        return source.codepoint_column(row, span.column) <= column < source.codepoint_column(row, span.end_column)

    def _class_text(self, cls: PytreeClass) -> str:
        rebuilding = f"\n\n**Rebuilt** after flattening: {_REBUILDING[cls.framework.unflatten]}."
        return f"```text\n{self._workspace.shape(cls)}\n```{rebuilding}"


def field_text(field: Field, cls: PytreeClass) -> str:
    """What a field of a class is, in Markdown."""
    what = _ROLES.get(field.role)
    if what is None:
        return f"`{field.name}` of `{cls.name}`: leaf or static, that cannot be determined from the source."
    return f"`{field.name}` of `{cls.name}` ({cls.framework.title}): {what}."


def rule_text(rule: type[Rule]) -> str:
    """The page of a rule, in Markdown."""
    online = f"[Read it online]({rule.url()})\n\n" if rule.url() else ""
    return f"# {rule.name} ({rule.code})\n\n{online}{rule.page()}"


def _hover(text: str, where: types.Range) -> types.Hover:
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), where)


def _expression(names: list[str]) -> Expr:
    at = Span(1, 0, 1, 0)
    expr: Expr = Name(at, names[0])
    for name in names[1:]:
        expr = Attribute(at, expr, name)
    return expr


def _end_of_word(line: str, match: re.Match[str], column: int) -> int:
    """Where the name at a column ends, in a chain of names with dots."""
    end = line.find(".", column, match.end())
    return match.end() if end < 0 else end


def _spans(at: Span, row: int) -> bool:
    return at.row <= row <= at.end_row
