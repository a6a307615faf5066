"""What the functions of a module pass for the parameters of another one of it, which have no annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import CodeRead
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.given_literals import calls_in
from jaxlint.syntax.expressions import Attribute, Expr, Name, dotted, last_name
from jaxlint.syntax.statements import Assign, assigned_names, bound_once, looked_up


class Passed(msgspec.Struct, frozen=True):
    """What one call passes for the parameters, as it is written there, and the scope in which the call stands."""

    given: Mapping[str, Expr]
    scope: str


def parameter_of(expr: Expr, code: CodeRead) -> str | None:
    """The parameter without annotation that an expression is: by itself, or as an attribute that was given it."""
    function = code.function
    if function is None:
        return None
    if isinstance(expr, Attribute):
        path = dotted(expr)
        given = [s for s in code.statements if isinstance(s, Assign) and any(dotted(t) == path for t in s.targets)]
        if path is None or len(given) != 1 or not any(s is given[0] for s in code.body):
            return None
        expr = given[0].value
    if not isinstance(expr, Name) or expr.id in assigned_names(code.body) or expr.id == function.self_name:
        return None
    return next((p.name for p in function.parameters if p.name == expr.id and p.annotation is None), None)


def passed_to(code: CodeRead, evaluator: Evaluator) -> Iterator[Passed]:
    """The calls of the function that is read, or of the class whose constructor it is, in functions of its module."""
    function, module = code.function, code.place.module
    if function is None or function.decorators or "<locals>" in function.scope:
        return
    owner = code.place.owner
    name = function.name
    if owner is not None:
        if function.name != "__init__":
            return
        name = owner.name
    positional = [p.name for p in function.parameters if p.kind == "positional"][owner is not None :]
    resolver = evaluator.model.resolver
    for call, caller in calls_in(module, re.compile(rf"\b{re.escape(name)}\s*\("), evaluator):
        scope = "" if caller is None else f"{caller.qualname}.<locals>"
        if last_name(call.func) != name or call.has_star:
            continue
        symbol = resolver.follow(resolver.resolve(call.func, module, scope))
        is_same = isinstance(symbol, FunctionSymbol) and symbol.declaration is function
        if not is_same and (owner is None or evaluator.model.class_of_symbol(symbol) is not owner):
            continue
        body = None if caller is None else evaluator.calls.body_of(FunctionSymbol(module, caller))
        bound = bound_once(body or ())
        yield Passed({n: looked_up(e, bound) for n, e in call.given_to(positional).items()}, scope)
