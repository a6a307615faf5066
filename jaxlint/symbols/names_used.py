"""The names that a module uses and declares, which others look up again and again: they outlive its outline."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from jaxlint.symbols.outline import Assignment, Import, Outline
from jaxlint.syntax.expressions import Call, Constant, dotted
from jaxlint.syntax.source import Unreadable

#: Finds the name of what a `partial` is made of.
_BOUND = re.compile(r"\bpartial\(\s*(?:\w+\.)*(\w+)")


class NamesUsed(NamedTuple):
    """By which names a module may know of the functions of others, without what they are attributes of."""

    #: What it calls.
    called: frozenset[str]
    #: What it imports from modules.
    imported: frozenset[str]
    #: What it gives to `partial` or what may be a transformation.
    given: frozenset[str]
    #: The modules that it imports.
    modules: frozenset[str]
    #: The attributes that it assigns outside of functions.
    attributes_set: frozenset[str]
    has_star_imports: bool
    #: The methods of its classes, by qualified name.
    methods: Mapping[str, frozenset[str]]
    #: The names that are annotated in its classes, by qualified name.
    fields: Mapping[str, frozenset[str]]
    #: Whether a call outside of functions is given something by position that is neither a constant nor a call.
    gives_outside: bool


def names_used(outline: Outline, text: Callable[[], str]) -> NamesUsed:
    """What a module with this outline uses and declares; its text is seldom asked for, and may raise `Unreadable`."""
    bindings = [binding for _, binding in imports_in(outline)]
    imported = _interned({binding.name for binding in bindings if binding.name})
    called = _interned(set[str]().union(*(unit.calls for unit in outline.units)))
    given = {getattr(argument.value, "attr", "") for one in outline.applying for argument in one.call.args}
    if "partial" in called or "partial" in imported or "partial" in given:
        with suppress(Unreadable):
            given.update(_BOUND.findall(text()))
    return NamesUsed(
        called,
        imported,
        _interned(given),
        _interned({binding.module.rpartition(".")[2] for binding in bindings if not binding.name}),
        _interned({path.rpartition(".")[2] for path in outline.attributes_set}),
        bool(outline.star_imports),
        {sys.intern(name): _interned(cls.methods) for name, cls in outline.classes.items()},
        {sys.intern(name): _interned(field.name for field in cls.fields) for name, cls in outline.classes.items()},
        any(not isinstance(one, (Constant, Call)) for call, _ in calls_outside(outline) for one in call.positional),
    )


def calls_outside(outline: Outline) -> Iterator[tuple[Call, bool]]:
    """The calls that a module makes outside of functions, and whether each of them is guarded."""
    for call in outline.module_calls:
        yield call, call.at in outline.guarded_calls
    for bindings in outline.module_scope.bindings.values():
        for binding in bindings:
            if isinstance(binding, Assignment) and isinstance(binding.value, Call):
                yield binding.value, binding.guard != ""


def given_to(functions: Iterable[str], outline: Outline) -> tuple[frozenset[str] | None, ...]:
    """The last parts of the names that each statement at module level gives to calls which calls one of some functions.

    It is None where a statement has no call at module level.
    """
    found: list[frozenset[str] | None] = []
    for unit in outline.units:
        if not unit.calls.isdisjoint(functions):
            calls = [call for call in outline.module_calls if unit.first <= call.at.row <= unit.last]
            names = ((dotted(one.value) or "").rpartition(".")[2] for call in calls for one in call.args)
            found.append(_interned(names) if calls else None)
    return tuple(found)


def _interned(names: Iterable[str]) -> frozenset[str]:
    """The same names as one object, which a thousand modules share."""
    return frozenset(map(sys.intern, names))


def imports_in(outline: Outline) -> Iterator[tuple[str, Import]]:
    """The names that imports bind in a module and in its functions, each with its import."""
    for scope in outline.scopes.values():
        for name, bindings in scope.bindings.items():
            for binding in bindings:
                if type(binding) is Import:
                    yield name, binding
