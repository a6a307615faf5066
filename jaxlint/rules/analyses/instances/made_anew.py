"""What a function of the project computes anew in the instance that it returns: that is no object of its argument."""

from __future__ import annotations

from collections.abc import Mapping, Set

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.libraries.updates import COPYING_NAMES
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.same_objects import given_in
from jaxlint.syntax.expressions import Binary, Call, Expr, Name, last_name
from jaxlint.syntax.statements import bound_once, looked_up


def fields_anew(one: Expr, cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> Set[str]:
    """The fields that hold something new in an instance, wherever it comes from: functions of the project return it."""
    values = given_in(code).get(one.id, []) if isinstance(one, Name) else [one]
    found = [_returned_anew(value, cls, code, evaluator) for value in values]
    return frozenset[str]().union(*found) if found and all(found) else frozenset()


def _returned_anew(value: Expr, cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> Set[str]:
    if not isinstance(value, Call):
        return frozenset()
    resolver = evaluator.model.resolver
    symbol = resolver.follow(resolver.resolve(value.func, code.place.module, code.scope))
    if not isinstance(symbol, FunctionSymbol) or symbol.declaration.is_generator or symbol.declaration.is_async:
        return frozenset()
    function, module = symbol.declaration, symbol.module
    if evaluator.calls.transformed.is_wrapped(function, module) or not function.return_values:
        return frozenset()
    bound = bound_once(evaluator.calls.body_of(symbol) or ())
    made = [_computed(looked_up(returned, bound), cls, bound) for returned in function.return_values]
    return frozenset[str]().union(*made) if all(made) else frozenset()


def _computed(made: Expr, cls: PytreeClass, bound: Mapping[str, Expr]) -> Set[str]:
    """The fields for which a constructor, or an update, is given what is computed."""
    if not isinstance(made, Call) or made.has_star:
        return frozenset()
    name = last_name(made.func)
    if name == cls.name and cls.method("__init__") is None:
        given = made.given_to([field.name for field in cls.fields])
    elif name in COPYING_NAMES and cls.method(name) is None:
        given = {a.keyword: a.value for a in made.args if a.keyword is not None}
    else:
        return frozenset()
    return {field for field, value in given.items() if isinstance(looked_up(value, bound), (Binary, Call))}
