"""Who calls a function again and again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.transforms.calling import calls_one_of
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.instances.passed import given_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, Name, dotted, last_name
from jaxlint.syntax.statements import Body, For, While, all_parts, assigned_names, bound_once, looked_up, walk


class Caller(NamedTuple):
    """A function that calls another one in a loop, or a module that does (then the scope is empty)."""

    module: Module
    scope: str
    body: Body
    #: The loop, the call, and the names by which such calls are recognised.
    loop: For | While
    call: Call
    names: set[str]


def callers_in_loops(
    function: Function, home: Module, module: Module, evaluator: Evaluator, outer: Function | None = None
) -> Iterator[Caller]:
    """The functions of one module that call a function of another, or of the same, in loops; and the module itself.

    What an `outer` function returns is called by the names that callers give it: `step = make_step(optimizer)`.
    """
    factory = outer if outer is not None and _returns(outer, function.name) else None
    made = set() if factory is None else set(_made_names(factory.name, home))
    others = [f.name for f in home.outline.functions.values() if f is not function]
    if (function.name not in home.source.text and not made) or not made.isdisjoint(others) or function.name in others:
        return
    names = {function.name, *compiled_names(function.name, home), *made}
    for scope, body in _calling(names, function, home, evaluator):
        for loop, call in _calls_in_loops(body):
            if last_name(call.func) in names:
                one = Caller(home, scope, body, loop, call, names)
                if (home is module and factory is None) or _is_meant(function, one, factory, evaluator):
                    yield one


def _calling(names: set[str], function: Function, home: Module, evaluator: Evaluator) -> Iterator[tuple[str, Body]]:
    """The bodies of a module that call something of one of the names, but for that of the function itself."""
    for caller in home.outline.functions.values():
        symbol = FunctionSymbol(home, caller)
        if caller is not function and calls_one_of(names, symbol):
            yield caller.inner_scope, evaluator.calls.body_of(symbol) or ()
    if any(unit.kind == "code" and not unit.calls.isdisjoint(names) for unit in home.outline.units):
        yield "", evaluator.calls.top_level(home)


def compiled_names(name: str, module: Module) -> list[str]:
    """The variables of a module that are given the compiled function: `fast = jax.jit(name)`."""
    return re.findall(rf"^[ \t]*(\w+)[ \t]*=[ \t]*[\w.]+\([ \t]*{re.escape(name)}\b", module.source.text, re.MULTILINE)


def is_repeated(function: Function, parameter: str, module: Module, evaluator: Evaluator) -> bool:
    """Whether a loop gives one and the same object for a parameter of a function at each of its turns."""
    for home in (module, *evaluator.model.importers(module)):
        for caller in callers_in_loops(function, home, module, evaluator):
            given = given_by(caller.call, function).get(parameter)
            path = None if given is None else dotted(given)
            if path is not None and path.partition(".")[0] not in assigned_names((caller.loop,)):
                return True
    return False


def _returns(outer: Function, name: str) -> bool:
    """Whether all that a function returns is another one inside of it, or what that is compiled to."""
    values = [v.positional[0] if isinstance(v, Call) and v.positional else v for v in outer.return_values]
    return bool(values) and all(isinstance(value, Name) and value.id == name for value in values)


def _made_names(factory: str, module: Module) -> list[str]:
    """The variables and attributes of a module that are given what a function returns: `step = make_step(...)`."""
    made = rf"^[ \t]*(?:\w+\.)*(\w+)[ \t]*=[ \t]*(?:\w+\.)*{re.escape(factory)}\("
    return re.findall(made, module.source.text, re.MULTILINE) if factory in module.source.text else []


def _is_meant(function: Function, caller: Caller, factory: Function | None, evaluator: Evaluator) -> bool:
    """Whether a call in another module is one of a function: methods are recognised by their names alone."""
    if function.owner is not None:
        return True
    func, meant = caller.call.func, function
    if last_name(func) != function.name:
        func = Name(func.at, function.name)
    if factory is not None:
        made = looked_up(caller.call.func, bound_once(caller.body))
        func, meant = made.func if isinstance(made, Call) else Name(func.at, factory.name), factory
    symbol = evaluator.model.resolver.resolve(func, caller.module, caller.scope)
    return isinstance(symbol, FunctionSymbol) and symbol.declaration is meant


def _calls_in_loops(body: Body) -> Iterator[tuple[For | While, Call]]:
    """The calls that a body makes again and again, with the loops around them."""
    for loop in walk(body, nested=False):
        if isinstance(loop, (For, While)):
            yield from ((loop, part) for part in all_parts(loop.body, nested=False) if isinstance(part, Call))
