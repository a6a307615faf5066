"""Functions and class methods that hand their `**keywords` on to a constructor, which takes the fields only."""

from __future__ import annotations

from msgspec.structs import replace

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import is_classmethod
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, Name, is_variable
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Body,
    Do,
    Raise,
    Return,
    all_parts,
    assigned_names,
    own_parts,
    walk,
)


def made_with(
    call: Call, function: Function, module: Module, cls: PytreeClass | None, evaluator: Evaluator
) -> tuple[PytreeClass, Call] | None:
    """The class whose instance a function, or a class method of `cls`, makes in any case, and the call that does it.

    The call is written as if the caller called the constructor itself. The function does nothing with its keywords but
    hand them on.
    """
    rest, body = function.rest, evaluator.calls.body_of(FunctionSymbol(module, function))
    if rest is None or body is None or function.is_async or function.is_generator:
        return None
    made = _handed_on(rest, body)
    if made is None or not isinstance(made.func, Name) or made.func.id in assigned_names(body):
        return None
    if cls is None or made.func.id != function.self_name:
        symbol = evaluator.model.resolver.resolve(made.func, module, function.inner_scope)
        cls = evaluator.model.build(symbol) if isinstance(symbol, ClassSymbol) else None
    elif not is_classmethod(function) or len(function.decorators) != 1:
        return None
    if cls is None:
        return None
    fixed = tuple(argument for argument in made.args if argument.star != "**")
    given = tuple(a for a in call.args if a.star == "**" or (a.keyword is not None and not function.takes(a.keyword)))
    return cls, replace(call, args=(*fixed, *given))


def _handed_on(rest: str, body: Body) -> Call | None:
    """The call that gets the keywords of a function, and is certainly made, if that is all that is done with them."""
    if sum(isinstance(part, Name) and part.id == rest for part in all_parts(body)) != 1:
        return None
    for statement in body:
        if isinstance(statement, (Return, Assign, Annotate, Do)):
            for part in own_parts(statement):
                if isinstance(part, Call) and any(is_variable(rest, a.value) and a.star == "**" for a in part.args):
                    return part
        if any(isinstance(s, (Return, Raise)) for s in walk((statement,), nested=False)):
            return None
    return None
