"""Whether a loop gives a function the state that it has returned, and nothing in between changes that."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Construct, Replace
from jaxlint.rules.analyses.changes.missed_by_callers import may_change
from jaxlint.rules.analyses.instances.callers_in_loops import Caller, callers_in_loops
from jaxlint.rules.analyses.instances.passed import given_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Display, Expr, Name, dotted
from jaxlint.syntax.statements import Assign, For, bound_names, target_names, walk


def comes_round(
    updates: Sequence[Replace | Construct], state: str | None, code: CodeRead, evaluator: Evaluator
) -> bool:
    """Whether a function gets one of its updates of a parameter for that parameter in the next turn of a loop.

    That is the carry of a loop of jax, or what a loop of Python binds to the variable that it gives the function.
    """
    function = code.function
    if function is None or state is None:
        return False
    made, (parameter, path) = _Made(updates, state, code), given_as(state, code)
    for applied in code.applied if function.takes(parameter) else ():
        if applied.carried_parameter(function) == parameter:
            if made.is_returned(function, *(0,) * applied.transform.name.endswith(".scan"), *path):
                return True
    if not function.takes(state):
        return False
    home = code.place.module
    outer = code.place.functions[-2] if len(code.place.functions) > 1 else None
    for module in (home, *evaluator.model.importers(home)):
        for caller in callers_in_loops(function, module, home, evaluator, outer):
            given = given_by(caller.call, function).get(state)
            if isinstance(given, Name) and _is_bound_by_call_alone(given.id, caller, made, function):
                return not may_change(given.id, caller, evaluator)
    return False


def returns_at(name: str, function: Function, *path: int) -> bool:
    """Whether all that a function returns has a variable where a path leads to."""

    def has(value: Expr, path: Sequence[int]) -> bool:
        if not path:
            return dotted(value) == name
        items = value.items if isinstance(value, Display) else ()
        return path[0] < len(items) and has(items[path[0]], path[1:])

    return bool(function.return_values) and all(has(value, path) for value in function.return_values)


def given_as(state: str, code: CodeRead) -> tuple[str, tuple[int, ...]]:
    """The parameter that is the state, or the one that holds it and at which index: `state, total = carry`."""
    bound = code.contents.bound
    for statement in code.body:
        match statement:
            case Assign(targets=(Display(items=items, has_star=False),), value=Name(id=whole)) if whole not in bound:
                index = next((n for n, item in enumerate(items) if dotted(item) == state), None)
                if index is not None:
                    return whole, (index,)
    return state, ()


class _Made:
    """The updates of a state, and the variables that are given them."""

    def __init__(self, updates: Sequence[Replace | Construct], state: str, code: CodeRead) -> None:
        self._places = {place_of(update.call.at) for update in updates}
        given = (s for s in code.statements if isinstance(s, Assign) and place_of(s.value.at) in self._places)
        self._names = {state, *(name for s in given for target in s.targets for name in target_names(target))}

    def is_returned(self, function: Function, *path: int) -> bool:
        """Whether all that a function returns is one of them, or a tuple that has one where a path leads to."""
        values = function.return_values
        return bool(values) and all(self._has(value, path) for value in values)

    def _has(self, value: Expr, path: Sequence[int]) -> bool:
        if path:
            items = value.items if isinstance(value, Display) else ()
            return path[0] < len(items) and self._has(items[path[0]], path[1:])
        return place_of(value.at) in self._places or dotted(value) in self._names


def _is_bound_by_call_alone(name: str, caller: Caller, made: _Made, function: Function) -> bool:
    """Whether all that a loop binds a variable to is the update that its call returns."""
    if isinstance(caller.loop, For) and name in target_names(caller.loop.target):
        return False
    binding = [s for s in walk(caller.loop.body, nested=False) if name in bound_names(s)]
    if len(binding) != 1 or not isinstance(binding[0], Assign) or binding[0].value is not caller.call:
        return False
    (target,) = binding[0].targets[:1]
    if not isinstance(target, Display):
        return made.is_returned(function)
    index = next((n for n, item in enumerate(target.items) if dotted(item) == name), None)
    return index is not None and made.is_returned(function, index)
