"""The functions of the project that calls run: by what is known of the expression that is called."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import (
    FunctionValue,
    Instance,
    LocalFunction,
    LocalFunctionValue,
    Partial,
    Value,
    binds_receiver,
    plain,
)
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.methods import is_overridden
from jaxlint.symbols.outline import Function, Parameter
from jaxlint.syntax.expressions import Call, dotted
from jaxlint.syntax.statements import Body, FunctionDefinition

#: Decorators that leave the arguments alone.
_BINDING = frozenset({"staticmethod", "classmethod"})


class Callee(msgspec.Struct, frozen=True):
    """A function of the project whose body is seen."""

    name: str
    #: The parameters that a call gives something.
    parameters: Sequence[Parameter]
    body: Body
    module: Module
    scope: str
    #: The parameter that the receiver of a method is given.
    receiver: str = ""


def called_by(call: Call, code: CodeRead, evaluator: Evaluator, *, plainly: bool = True) -> Callee | None:
    """The function of the project that a call in a body runs, by its name or by what is known of the expression."""
    symbol = evaluator.model.resolver.resolve(call.func, code.place.module, code.scope)
    if isinstance(symbol, (External, ClassSymbol)):
        return None
    if isinstance(symbol, FunctionSymbol) and not symbol.declaration.scope:
        return callee_of(FunctionValue(symbol), evaluator, plainly=plainly)
    return callee_of(LocalInstances.of(code, evaluator).value(call.func), evaluator, plainly=plainly)


def declared(symbol: FunctionSymbol, evaluator: Evaluator, bound: int = 0) -> Callee:
    """A function that is declared, the first of whose parameters may be bound."""
    function, body = symbol.declaration, evaluator.calls.body_of(symbol) or ()
    receiver = function.parameters[0].name if bound else ""
    return Callee(function.name, function.parameters[bound:], body, symbol.module, function.inner_scope, receiver)


def callee_of(value: Value, evaluator: Evaluator, *, plainly: bool = True) -> Callee | None:
    """The function that a value stands for, if a call of it runs its body with what it is given, and nothing else.

    `plainly` wants no transformation to be applied to it anywhere.
    """
    match value:
        case Partial(function=function, args=args):
            callee = callee_of(plain(function), evaluator, plainly=plainly)
            names = {argument.keyword for argument in args}
            bound = sum(argument.keyword is None for argument in args)
            if callee is None or any(argument.star for argument in args):
                return None
            left = [p for p in callee.parameters[bound:] if p.name not in names]
            return Callee(callee.name, left, callee.body, callee.module, callee.scope)
        case LocalFunctionValue(
            function=LocalFunction(node=FunctionDefinition(body=body), declaration=declaration, module=module),
            applied=(),
        ) if not declaration.decorators and _runs(declaration, module, evaluator, plainly):
            return Callee(declaration.name, declaration.parameters, body, module, declaration.inner_scope)
        case FunctionValue(symbol=symbol, receiver=receiver, applied=()):
            declaration, module = symbol.declaration, symbol.module
            if not _runs(declaration, module, evaluator, plainly) or _may_be_overridden(value, evaluator):
                return None
            if not all(dotted(d) in _BINDING or evaluator.calls.passes_on(d, symbol) for d in declaration.decorators):
                return None
            return declared(symbol, evaluator, binds_receiver(declaration, receiver))
    return None


def _runs(function: Function, module: Module, evaluator: Evaluator, plainly: bool) -> bool:
    """Whether calling a function runs its body with the very arguments."""
    if function.is_generator or function.is_async:
        return False
    return not (plainly and evaluator.calls.transformed.of(function, module))


def _may_be_overridden(method: FunctionValue, evaluator: Evaluator) -> bool:
    receiver = plain(method.receiver) if method.receiver is not None else None
    return isinstance(receiver, Instance) and is_overridden(method.symbol.declaration.name, receiver, evaluator)
