"""Leaves that every construction of a class, in the functions that are seen, computes from one other argument."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.updating import UPDATE_METHODS
from jaxlint.rules.analyses.instances.given_literals import calls_in
from jaxlint.syntax.expressions import Call, Expr, Name, last_name


def made_from(
    cls: PytreeClass,
    module: Module,
    source: Callable[[Expr, Mapping[str, str]], str | None],
    evaluator: Evaluator,
) -> Iterator[tuple[str, str, int]]:
    """The leaves that are always computed of another one, with that, and how many constructions do so.

    Those of the class's module and of `module` are looked at; `source` tells of which variable a value is computed. A
    leaf that an update changes without the other one goes its own way.
    """
    modules = tuple({one.path: one for one in (cls.module, module)}.values())
    making = re.compile(rf"\b{re.escape(cls.name)}\s*\(")
    made = [
        dict(_computed(given, source))
        for home in modules
        for call, _ in calls_in(home, making, evaluator)
        if last_name(call.func) == cls.name and (given := _arguments(call, cls))
    ]
    first, *others = made or [{}]
    for derived, of in first.items():
        if all(one.get(derived) == of for one in others) and not _goes_alone(derived, of, modules, evaluator):
            yield derived, of, len(made)


def _arguments(call: Call, cls: PytreeClass) -> dict[str, Expr]:
    """What a construction gives to the fields; nothing if that is not written out."""
    if call.has_star or cls.custom_init() is not None:
        return {}
    fields = [field.name for field in cls.fields if field.init]
    given = dict(zip(fields, call.positional, strict=False))
    return given | {a.keyword: a.value for a in call.args if a.keyword is not None}


def _computed(
    given: Mapping[str, Expr], source: Callable[[Expr, Mapping[str, str]], str | None]
) -> Iterator[tuple[str, str]]:
    kept = {value.id: name for name, value in given.items() if isinstance(value, Name)}
    for name, value in given.items():
        of = None if isinstance(value, Name) else source(value, kept)
        if of is not None and of != name:
            yield name, of


def _goes_alone(derived: str, source: str, modules: Iterable[Module], evaluator: Evaluator) -> bool:
    """Whether an update gives the leaf another value without touching what it was computed from."""
    written = re.compile(rf"\b{re.escape(derived)}\s*=")
    calls = (call for module in modules for call, _ in calls_in(module, written, evaluator))
    return any(
        last_name(call.func) in UPDATE_METHODS and call.keyword(derived) is not None and call.keyword(source) is None
        for call in calls
    )
