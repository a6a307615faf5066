"""Leaves that every construction of a class, in the functions that are seen, computes from one other argument."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.libraries.arrays import ARRAY_REDUCTIONS
from jaxlint.libraries.updates import TREE_AT, UPDATE_METHODS
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.rules.analyses.instances.given_literals import calls_in
from jaxlint.syntax.expressions import Attribute, Binary, Call, Expr, Name, last_name, selected_by

#: Finds the variable that a value is computed from, among some that are given to fields.
_Source: TypeAlias = Callable[[Expr, Mapping[str, str]], "str | None"]


def made_from(
    cls: PytreeClass, module: Module, source: _Source, evaluator: Evaluator
) -> Iterator[tuple[str, str, int]]:
    """The leaves that functions of jax always compute of another one, with that, and how many constructions do so.

    `source` tells of which variable a value is computed. A leaf that an update changes without the other one goes its
    own way. Only if the constructions in `module` and that of the class do so, all others are asked.
    """
    if cls.custom_init() is not None:
        return  # it makes of its arguments what it likes
    near = {one.path: one for one in (cls.module, module)}
    if not any(True for _ in _always(cls, near.values(), source, evaluator)):
        return
    known = near | {one.path: one for one in evaluator.model.importers(cls.module)}
    for derived, of, count in _always(cls, known.values(), source, evaluator):
        if not goes_alone(derived, of, known.values(), evaluator):
            yield derived, of, count


def _always(
    cls: PytreeClass, modules: Iterable[Module], source: _Source, evaluator: Evaluator
) -> Iterator[tuple[str, str, int]]:
    """What all constructions of a class in some modules compute of another argument."""
    making = re.compile(rf"\b{re.escape(cls.name)}\s*\(")
    calls = (
        (call, Placed(call, home, function.inner_scope if function else ""))
        for home in modules
        if making.search(home.source.text)
        for call, function in calls_in(home, making, evaluator)
        if last_name(call.func) == cls.name
    )
    made = [dict(_computed(_arguments(call, cls), source, placed, evaluator)) for call, placed in calls]
    first, *others = made or [{}]
    for derived, of in first.items():
        if all(one.get(derived) == of for one in others):
            yield derived, of, len(made)


def _arguments(call: Call, cls: PytreeClass) -> dict[str, Expr]:
    """What a construction gives to the fields; nothing if that is not written out."""
    if call.has_star:
        return {}
    fields = [field.name for field in cls.fields if field.init]
    given = dict(zip(fields, call.positional, strict=False))
    return given | {a.keyword: a.value for a in call.args if a.keyword is not None}


def _computed(
    given: Mapping[str, Expr],
    source: _Source,
    call: Placed,
    evaluator: Evaluator,
) -> Iterator[tuple[str, str]]:
    by_variable = {value.id: name for name, value in given.items() if isinstance(value, Name)}
    for name, value in given.items():
        of = source(value, by_variable) if _is_of_library(value, call, evaluator) else None
        if of is not None and of != name:
            yield name, of


def _is_of_library(value: Expr, call: Placed, evaluator: Evaluator) -> bool:
    """Whether an operator, a method of an array or a function of jax computes a value, and not one of the project."""
    if not isinstance(value, Call):
        return isinstance(value, Binary)
    name = evaluator.model.resolver.library_name(value.func, call.module, call.scope)
    is_method = (
        isinstance(value.func, Attribute) and isinstance(value.func.value, Name) and value.func.attr in ARRAY_REDUCTIONS
    )
    return is_method or name.startswith(("jax.", "numpy."))


def goes_alone(derived: str, source: str, modules: Iterable[Module], evaluator: Evaluator) -> bool:
    """Whether an update gives the leaf another value without touching what it was computed from.

    Either it goes its own way, or that is how it is computed again after the other one was replaced.
    """
    written = re.compile(rf"\b{re.escape(derived)}\s*=|\.{re.escape(derived)}\b")
    calls = (call for module in modules for call, _ in calls_in(module, written, evaluator))
    return any(_gives(call, derived) and not _gives(call, source) for call in calls)


def _gives(call: Call, field: str) -> bool:
    """Whether an update is seen to give a field a value."""
    if last_name(call.func) in UPDATE_METHODS:
        return call.keyword(field) is not None
    if not TREE_AT.endswith(f".{last_name(call.func)}"):
        return False
    selected = selected_by(next(iter(call.positional), None) or call.keyword("where"))
    return selected is not None and any(isinstance(one, Attribute) and one.attr == field for one in selected[1])
