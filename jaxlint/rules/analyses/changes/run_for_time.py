"""Functions that are compiled to be looked at, or run for the time that they take: nobody wants what they compute."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.bodies.around import outermost_body
from jaxlint.rules.analyses.changes.dropped_steps import WAITING
from jaxlint.rules.analyses.changes.only_run import reads_clock
from jaxlint.rules.analyses.instances.methods import may_have
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, last_name
from jaxlint.syntax.statements import Assign, Body, Do, all_parts, own_parts, parts, walk

#: Methods of what is compiled that compile without a call.
_LOWERING = frozenset({"lower", "trace"})


def is_run_for_time(function: Function, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a function is used, and all that is done with it is to lower it, or to call it where a clock is read.

    So is what it is called once it is compiled: `fast = jax.jit(step)`. Nothing is made of the results.
    """
    bodies = list(_bodies(function, code, evaluator))
    names = {function.name, *(name for body in bodies for name in _compiled_as(function.name, body))}
    module, scope = code.place.module, code.place.functions[0].inner_scope
    timed = [(body, reads_clock(all_parts(body), module, scope, evaluator)) for body in bodies]
    uses = [_is_for_nothing(use, body, names, is_timed) for body, is_timed in timed for use in _uses(names, body)]
    return bool(uses) and all(uses)


def _bodies(function: Function, code: CodeRead, evaluator: Evaluator) -> Iterator[Body]:
    """The statements in which a function may be used: those around it, or all of its module."""
    module = code.place.module
    if function.owner is None and function.scope:
        yield outermost_body(code.place, evaluator)
    elif function.owner is None and not evaluator.model.importers(module):
        yield evaluator.calls.top_level(module)
        named = re.compile(rf"\b{re.escape(function.name)}\b")
        for other in module.outline.functions.values():
            if other is not function and "<locals>" not in other.scope and may_have(named, other, module):
                yield evaluator.calls.body_of(FunctionSymbol(module, other)) or ()


def _compiled_as(name: str, body: Body) -> Iterator[str]:
    """The variables to which what a call makes of a function is given: `fast = jax.jit(step)`."""
    for statement in walk(body):
        match statement:
            case Assign(targets=(Name(id=target),), value=Call(positional=(Name(id=given),))) if given == name:
                yield target


def _uses(names: set[str], body: Body) -> Iterator[Name]:
    return (part for part in all_parts(body) if isinstance(part, Name) and part.id in names)


def _is_for_nothing(use: Name, body: Body, names: set[str], is_timed: bool) -> bool:
    """Whether a function is lowered where its name stands, gets another name, or is called alone while time runs."""
    for statement in walk(body):
        if not any(part is use for part in own_parts(statement)):
            continue
        if isinstance(statement, Assign):
            targets = [target.id for target in statement.targets if isinstance(target, Name)]
            if not names.isdisjoint(targets):
                return True
        if any(_lowers(part, use) for part in own_parts(statement)):
            return True
        return is_timed and isinstance(statement, Do) and _called_alone(statement.value, use)
    return False


def _lowers(expr: Expr, use: Name) -> bool:
    """Whether an expression is `step.lower(...)`, or that of what a call makes of the function."""
    match expr:
        case Call(func=Attribute(value=held, attr=attr)) if attr in _LOWERING:
            return any(part is use for part in parts(held))
    return False


def _called_alone(value: Expr, use: Name) -> bool:
    """Whether an expression is a call of the function, for which at most somebody waits."""
    match value:
        case Call(func=Attribute(value=held, attr=attr)) if attr == WAITING and isinstance(held, Call):
            return _called_alone(held, use)
        case Call(func=func, positional=(waited,)) if last_name(func) == WAITING:
            return _called_alone(waited, use)
        case Call(func=func):
            return any(part is use for part in parts(func))
    return False
