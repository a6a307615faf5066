"""The parameters of a `TrainState`, which flax.linen makes: a dict, whatever an annotation says."""

from __future__ import annotations

import re

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Instance, plain
from jaxlint.libraries import linen
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.pytrees.updating import is_train_state
from jaxlint.rules.analyses.instances.given_literals import around, calls_in
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, Subscript, last_name
from jaxlint.syntax.statements import bound_once, looked_up

#: The collection of the variables of a module that holds what is trained.
_TRAINED = "params"
_CREATED = re.compile(rf"\bcreate\s*\([^#]*\b{_TRAINED}\s*=", re.DOTALL)
#: Through so many variables the parameters are followed.
_DEEPEST = 4


def holds_linen_params(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether states are seen to be created, and each with what `init` of a module of flax.linen has made."""
    if field.name != _TRAINED or not is_train_state(cls):
        return False
    made = [
        _is_made_by_init(given, Placed(call, module, "" if function is None else function.inner_scope), evaluator)
        for module in around(cls, evaluator)
        if _CREATED.search(module.source.text) is not None
        for call, function in calls_in(module, _CREATED, evaluator)
        if last_name(call.func) == "create" and (given := call.keyword(_TRAINED)) is not None
    ]
    return bool(made) and all(made)


def _is_made_by_init(expr: Expr, call: Placed, evaluator: Evaluator) -> bool:
    """Whether an expression is what `init` of a module of flax.linen returns, or its `params`."""
    function = call.module.outline.function_of(call.scope)
    body = None if function is None else evaluator.calls.body_of(FunctionSymbol(call.module, function))
    bound = bound_once(body or ())
    for _ in range(_DEEPEST):
        expr = looked_up(expr, bound)
        match expr:
            case Subscript(value=held, index=Constant(value="params")):
                expr = held
            case Call(func=Attribute(value=held, attr="init")):
                made = plain(evaluator.static(Placed(looked_up(held, bound), call.module, call.scope)))
                return isinstance(made, Instance) and evaluator.inherits(made.cls, linen.MODULE)
            case _:
                return False
    return False
