"""Whether what is passed to a function stays with somebody: with who has passed it, or where the function puts it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Place
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.bodies.around import body_around, functions_around
from jaxlint.rules.analyses.bodies.binding import binds
from jaxlint.rules.analyses.changes.returning import mentions
from jaxlint.rules.analyses.fixes.held import is_read_later
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Call, Name
from jaxlint.syntax.statements import Statement, own_parts, walk


def is_held_elsewhere(cls: PytreeClass, attr: str, evaluator: Evaluator) -> bool:
    """Whether somebody else holds what an attribute of an instance has, and would not see another value of it.

    That is who has passed it to the constructor or a method, and goes on with it, or the class.
    """
    if re.search(rf"\b{re.escape(cls.name)}\.{re.escape(attr)}\b", cls.module.source.text):
        return True
    if cls.is_dataclass and _go_on(cls.name, [field.name for field in cls.fields], attr, cls.module, evaluator):
        return True
    for placed in cls.assigned.get(attr, ()):
        if placed is None or not isinstance(placed.expr, Name):
            continue
        function = placed.module.outline.function_of(placed.scope)
        if function is None or placed.expr.id not in function.positional[1:]:
            continue
        name = cls.name if function.name == "__init__" else function.name
        if _go_on(name, function.positional[1:], placed.expr.id, placed.module, evaluator):
            return True
    return False


def callers_go_on(function: Function, parameter: str, module: Module, evaluator: Evaluator) -> bool:
    """Whether who calls a function in its module goes on with the variable that is passed for a parameter."""
    positional = [name for name in function.positional if name != function.self_name]
    return parameter in positional and _go_on(function.name, positional, parameter, module, evaluator)


def _go_on(name: str, positional: Sequence[str], parameter: str, module: Module, evaluator: Evaluator) -> bool:
    for place, statement, call in _calls(name, module, evaluator):
        given = call.given_to(positional).get(parameter)
        if isinstance(given, Name) and not binds(statement, given.id):
            if is_read_later(given.id, call.at, place, evaluator):
                return True
    return False


def _calls(name: str, module: Module, evaluator: Evaluator) -> Iterator[tuple[Place, Statement, Call]]:
    """The calls in a module of what has a name, with the code and the statement that they are in."""
    for at in mentions(name, module):
        place = Place(module, tuple(functions_around(at, module)))
        for statement in walk(body_around(place, evaluator), nested=False):
            for part in own_parts(statement):
                if isinstance(part, Call) and place_of(part.func.at)[2:] == at[2:]:
                    yield place, statement, part
