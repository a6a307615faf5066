"""Whether a field may hold None, so that a copy by its leaves has to take None for one, too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Place
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.updating import may_be_empty, update_function
from jaxlint.rules.analyses.bodies.around import body_around
from jaxlint.rules.analyses.instances.methods import may_have
from jaxlint.syntax.expressions import Attribute, Call, Expr, is_none, last_name
from jaxlint.syntax.statements import Assign, Body, all_parts, parts, targets_of, walk

_NONE = re.compile(r"\bNone\b")


def may_be_none(cls: PytreeClass, attr: str, place: Place, evaluator: Evaluator) -> bool:
    """Whether a field that a copy by its leaves replaces is said to be None perhaps, or the module gives it None."""
    if not update_function(cls, attr).endswith("tree_at"):
        return False
    return may_be_empty(cls, attr) or any(_gives_none(cls, attr, body) for body in _bodies_with_none(place, evaluator))


def _bodies_with_none(place: Place, evaluator: Evaluator) -> Iterator[Body]:
    """The code in which something happens, that of the module, and those of its functions in which None stands."""
    yield body_around(place, evaluator)
    module = place.module
    if _NONE.search(module.source.text):
        yield evaluator.calls.top_level(module)
        functions = (f for f in module.outline.functions.values() if may_have(_NONE, f, module))
        yield from (evaluator.calls.body_of(FunctionSymbol(module, function)) or () for function in functions)


def _gives_none(cls: PytreeClass, attr: str, body: Body) -> bool:
    """Whether something in a body assigns None to the attribute, passes it by that name, or makes an instance of it."""
    for statement in walk(body, nested=False):
        targets = targets_of(statement) if isinstance(statement, Assign) else ()
        if isinstance(statement, Assign) and any(_is_attribute(part, attr) for one in targets for part in parts(one)):
            if any(map(is_none, parts(statement.value))):
                return True
    calls = (part for part in all_parts(body, nested=False) if isinstance(part, Call))
    return any(_passes_none(cls, attr, call) for call in calls)


def _is_attribute(expr: Expr, attr: str) -> bool:
    return isinstance(expr, Attribute) and expr.attr == attr


def _passes_none(cls: PytreeClass, attr: str, call: Call) -> bool:
    given = [argument.value for argument in call.args if argument.keyword == attr]
    return any(map(is_none, (*given, *(call.positional if last_name(call.func) == cls.name else ()))))
