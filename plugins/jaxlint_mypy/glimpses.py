"""Modules that are read only as far as their pytree classes need it, until somebody asks for more.

Where such classes are declared beside functions and others, most of a module says nothing of them. mypy knows where
functions and classes begin and end, so that they need not be parsed again. Whatever is then asked for that was not read
is looked up in the whole module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from functools import cached_property, partial
from typing import Any, TypeVar

import msgspec
from mypy.nodes import AssignmentStmt, ClassDef, Decorator, FuncDef, Statement

from jaxlint.project.modules import Module
from jaxlint.suppression.comments import mentions_jaxlint
from jaxlint.symbols.outline import Applying, Class, Function, Outline, Unit
from jaxlint_mypy.declared import Declared

_T = TypeVar("_T")
#: Where functions bind names of the module.
_GLOBAL = re.compile(r"^\s*global ", re.MULTILINE)
_BEGINNINGS = ("def ", "async def ", "class ", "@")
#: How many of the rows of a module must be left out to make it worth the trouble.
_WORTH = 0.2


class Shortened(msgspec.Struct, frozen=True):
    """A text in which functions and classes are left out but for their names, and the rows of these."""

    text: str
    rows: frozenset[int]


class GlimpsedModule(Module):
    """A module that may be read in part first."""

    #: Makes the text shorter, if that helps, without moving what is left of it.
    shorten: Callable[[str], Shortened | None] | None = None

    @cached_property
    def outline(self) -> Outline:
        """The outline, which may be one that reads the rest of the module when that is asked for."""
        return self._read_outline()

    def _parsed(self) -> Outline:
        short = None if self.shorten is None else self.shorten(self.source.text)
        self.shorten = None
        outline = None if short is None else self._glimpsed(short)
        return super()._parsed() if outline is None else outline

    def _glimpsed(self, short: Shortened) -> Outline | None:
        try:
            read = read_first(short)
        except (SyntaxError, ValueError, MemoryError):
            return None
        whole = partial(self._whole, read)
        return _Glimpse(
            scopes=_Known(read.scopes, lambda: whole().scopes),
            classes=_Known(read.classes, lambda: whole().classes),
            functions=_Known(read.functions, lambda: whole().functions),
            units=(),
            module_calls=read.module_calls,
            guarded_calls=read.guarded_calls,
            star_imports=read.star_imports,
            all_names=read.all_names,
            future_annotations=read.future_annotations,
            imported_modules=(),
            has_suppressions=mentions_jaxlint(self.source.text),
            attributes_set=read.attributes_set,
            whole=whole,
        )

    def _whole(self, known: Outline) -> Outline:
        """The outline of the whole, in which what was read first is still the same."""
        if type(self.outline) is _Glimpse:
            outline = super()._parsed()
            outline.scopes.update(known.scopes)
            outline.classes.update(known.classes)
            outline.functions.update(known.functions)
            self.outline = outline
        return self.outline


class _Glimpse(Outline, gc=True):
    """The outline of what was read first."""

    whole: Callable[[], Outline] | None = None

    @property  # type: ignore[misc]
    def units(self) -> tuple[Unit, ...]:  # type: ignore[override]
        """The units of the whole."""
        return self._all.units

    @property  # type: ignore[misc]
    def applying(self) -> tuple[Applying, ...]:  # type: ignore[override]
        """The calls in the whole that may apply transformations."""
        return self._all.applying

    @property  # type: ignore[misc]
    def imported_modules(self) -> tuple[tuple[int, str], ...]:  # type: ignore[override]
        """What is imported anywhere in the whole."""
        return self._all.imported_modules

    @property
    def _all(self) -> Outline:
        assert self.whole is not None
        return self.whole()


class _Known(dict[str, _T]):
    """What was read, by name; the whole for those who ask for another name, or for all of them."""

    def __init__(self, known: dict[str, _T], whole: Callable[[], dict[str, _T]]) -> None:
        super().__init__(known)
        self._whole = whole

    def __missing__(self, name: str) -> _T:
        return self._whole()[name]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._whole()

    def get(self, name: str, default: Any = None) -> Any:
        """What is there by that name."""
        return super().get(name) or self._whole().get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        """The names of all that is there."""
        return self._whole().keys()

    def values(self) -> ValuesView[_T]:  # type: ignore[override]
        """All that is there."""
        return self._whole().values()

    def items(self) -> ItemsView[str, _T]:  # type: ignore[override]
        """All that is there, with the names."""
        return self._whole().items()


def by_row(module: Module) -> dict[tuple[str, int], Class | Function]:
    """All classes and functions of a module by name and the row of their name (or first decorator)."""
    if isinstance(module, GlimpsedModule):
        module.shorten = None
    found: dict[tuple[str, int], Class | Function] = {}
    for function in module.outline.functions.values():
        found[function.name, function.at.row] = function
    for cls in module.outline.classes.values():
        found[cls.name, cls.at.row] = cls
        found[cls.name, cls.name_at.row] = cls
    return found


def shortened(definitions: list[Statement], declared: Declared, text: str) -> Shortened | None:
    """The text with only the names of its functions, and of classes that are no pytrees.

    None if that is not worth it, or if what stands in a function may matter to the rest of the module.
    """
    if declared.registers or declared.makes_of_subclasses or "\r" in text or "\f" in text:
        return None  # these end rows for some and not for others
    if "global " in text and _GLOBAL.search(text):
        return None
    lines = text.split("\n")
    rows: set[int] = set()
    count = 0
    for statement in definitions:
        if isinstance(statement, (FuncDef, Decorator)):
            left = f"def {statement.name}(): ..."
        elif isinstance(statement, ClassDef) and not _may_be_pytree(statement, declared):
            left = f"class {statement.name}: ..."
        else:
            continue
        first, last = statement.line, statement.end_line or 0
        if last <= len(lines) and lines[first - 1].startswith(_BEGINNINGS):
            lines[first - 1 : last] = [left, *[""] * (last - first)]
            rows.add(first)
            count += last - first
    return Shortened("\n".join(lines), frozenset(rows)) if count >= _WORTH * len(lines) else None


def read_first(short: Shortened) -> Outline:
    """The outline of what is left of a text: all that it holds is as in the outline of the whole text.

    Raises what `ast.parse` raises.
    """
    from jaxlint.symbols.parsing import outline_of

    outline = outline_of(short.text)
    left_out = {f"{q}.<locals>" for q, f in outline.functions.items() if f.at.row in short.rows}
    left_out |= {q for q, c in outline.classes.items() if c.at.row in short.rows}
    outline.scopes = {q: s for q, s in outline.scopes.items() if q not in left_out}
    outline.classes = {q: c for q, c in outline.classes.items() if q not in left_out}
    outline.functions = {q: f for q, f in outline.functions.items() if f.inner_scope not in left_out}
    return outline


def _may_be_pytree(definition: ClassDef, declared: Declared) -> bool:
    """Whether somebody is going to ask for a class: it has a decorator, a base of a framework, or fields."""
    if definition.decorators or declared.inheriting.get(definition.name) != frozenset():
        return True
    return any(isinstance(one, AssignmentStmt) and one.unanalyzed_type for one in definition.defs.body)
