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
from jaxlint.syntax.statements import Body, For, While, all_parts, assigned_names, walk


class Caller(NamedTuple):
    """A function that calls another one in a loop."""

    module: Module
    scope: str
    body: Body
    #: The loop, the call, and the names by which such calls are told.
    loop: For | While
    call: Call
    names: set[str]


def callers_in_loops(function: Function, home: Module, module: Module, evaluator: Evaluator) -> Iterator[Caller]:
    """The functions of one module that call a function of another, or of the same, in loops."""
    names = {function.name, *compiled_names(function.name, home)}
    if function.name not in home.source.text or any(
        f.name == function.name and f is not function for f in home.outline.functions.values()
    ):
        return
    for caller in home.outline.functions.values():
        symbol = FunctionSymbol(home, caller)
        is_calling = caller is not function and calls_one_of(names, symbol)
        body = evaluator.calls.body_of(symbol) if is_calling else None
        for loop, call in _calls_in_loops(body or ()):
            if last_name(call.func) in names and body is not None:
                one = Caller(home, caller.inner_scope, body, loop, call, names)
                if home is module or _is_meant(function, one, evaluator):
                    yield one


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


def _is_meant(function: Function, caller: Caller, evaluator: Evaluator) -> bool:
    """Whether a call in another module is one of a function: methods are told by their names alone."""
    func = caller.call.func
    written = func if last_name(func) == function.name else Name(func.at, function.name)
    symbol = evaluator.model.resolver.resolve(written, caller.module, caller.scope)
    return function.owner is not None or (isinstance(symbol, FunctionSymbol) and symbol.declaration is function)


def _calls_in_loops(body: Body) -> Iterator[tuple[For | While, Call]]:
    """The calls that a body makes again and again, with the loops around them."""
    for loop in walk(body, nested=False):
        if isinstance(loop, (For, While)):
            yield from ((loop, part) for part in all_parts(loop.body, nested=False) if isinstance(part, Call))
