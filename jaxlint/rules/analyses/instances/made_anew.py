"""What a function of the project computes anew in the instance that it returns: that is no object of its argument."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.libraries.updates import COPYING_NAMES
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.expressions import Binary, Call, Display, Expr, Name, dotted, item_of, last_name
from jaxlint.syntax.statements import Assign, assigned_pairs, bound_once, looked_up


def fields_anew(one: Expr, cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> Set[str]:
    """The fields that hold something new in an instance, wherever it comes from: functions of the project return it."""
    values = list(_given(one.id, code)) if isinstance(one, Name) else [(one, None)]
    found = [_returned_anew(value, part, cls, code, evaluator) for value, part in values]
    return frozenset[str]().union(*found) if found and all(found) else frozenset()


def _given(name: str, code: CodeRead) -> Iterator[tuple[Expr, int | None]]:
    """The values that a body gives to a variable, and which part of each that is if it unpacks them: `x, y = f()`."""
    for statement in code.statements:
        if not isinstance(statement, Assign):
            continue
        for place, value in assigned_pairs(statement):
            if isinstance(place, Display):
                items = () if place.has_star else place.items
                yield from ((value, part) for part, item in enumerate(items) if dotted(item) == name)
            elif dotted(place) == name:
                yield value, None


def _returned_anew(value: Expr, part: int | None, cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> Set[str]:
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
    made = [_computed(_part_of(looked_up(value, bound), part, bound), cls, bound) for value in function.return_values]
    return frozenset[str]().union(*made) if all(made) else frozenset()


def _part_of(returned: Expr, part: int | None, bound: Mapping[str, Expr]) -> Expr | None:
    """One of the values of a tuple that a function returns, or all that it returns; None if that is no tuple."""
    if part is None:
        return returned
    item = item_of(returned, part)
    return None if item is None else looked_up(item, bound)


def _computed(made: Expr | None, cls: PytreeClass, bound: Mapping[str, Expr]) -> Set[str]:
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
