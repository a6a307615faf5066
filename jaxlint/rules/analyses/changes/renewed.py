"""Calls of compiled functions that change what they are given, and return it: jax gives them a copy of it."""

from __future__ import annotations

from collections.abc import Callable

from jaxlint.infer.bodies.slots import slot_of
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Replace
from jaxlint.infer.known.values import Instance, Value, plain
from jaxlint.infer.transforms.applied import rebuilt_parameters
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.methods import is_overridden
from jaxlint.rules.analyses.instances.passed import given_by
from jaxlint.syntax.expressions import Attribute, Call, Display, Expr, Name
from jaxlint.syntax.statements import Assign, Augment, Body, Return, bound_names, walk


def decorated(
    func: Expr, module: Module, scope: str, held: Callable[[Expr], Value], evaluator: Evaluator
) -> FunctionSymbol | None:
    """The decorated function, or method of what an expression `held`, that is called."""
    symbol = evaluator.model.resolver.resolve(func, module, scope)
    if isinstance(symbol, FunctionSymbol):
        return symbol if symbol.declaration.decorators and symbol.declaration.owner is None else None
    if not isinstance(func, Attribute):
        return None
    receiver = plain(held(func.value))
    found = receiver.cls.method(func.attr) if isinstance(receiver, Instance) else None
    return None if found is None or not found[1].decorators else FunctionSymbol(found[0].module, found[1])


def renewed_by(call: Call, code: CodeRead, evaluator: Evaluator) -> Replace | None:
    """The update that a call is, if its function is compiled, sets attributes of an instance and returns that.

    Outside of compiled code, the caller's own instance would be changed.
    """
    instances, module = LocalInstances.of(code, evaluator), code.place.module
    symbol = decorated(call.func, module, code.scope, instances.value, evaluator)
    if symbol is None:
        return None
    function, transformed = symbol.declaration, evaluator.calls.transformed
    receiver = plain(instances.value(call.func.value)) if function.owner and isinstance(call.func, Attribute) else None
    if isinstance(receiver, Instance):
        if function.self_name is None or is_overridden(function.name, receiver, evaluator):
            return None
    if function.is_generator or function.is_async or transformed.is_wrapped(function, symbol.module):
        return None
    rebuilt = rebuilt_parameters(function, transformed.decorating(function, symbol.module))
    given = {name: expr for name, expr in given_by(call, function).items() if name in rebuilt}
    body = evaluator.calls.body_of(symbol) if given else None
    if body is None:
        return None
    for name, expr in given.items():
        if not (_changes(name, body) and _returns(name, body)):
            continue
        instance = plain(instances.value(expr))
        if isinstance(instance, Instance) and _is_copied(instance.cls):
            beside = any(isinstance(value, Display) for value in function.return_values)
            return Replace(call.at, code.place, call, expr, instance, function.name, (), False, False, beside=beside)
    return None


def _is_copied(cls: PytreeClass) -> bool:
    """Whether instances can be changed in place, but compiled code is given a copy of them."""
    return cls.is_pytree and cls.frozen is False and not cls.framework.is_stateful


def _changes(name: str, body: Body) -> bool:
    """Whether an attribute of a parameter itself is set, which is bound nowhere else.

    What a static field holds is the caller's own object, inside of compiled code, too.
    """
    statements = list(walk(body))
    if any(name in bound_names(s) for s in statements):
        return False
    targets = [
        target
        for s in statements
        for target in (s.targets if isinstance(s, Assign) else (s.target,) if isinstance(s, Augment) else ())
    ]
    slots = [slot_of(target) for target in targets if isinstance(target, Attribute)]
    return any(slot is not None and slot.root == name and len(slot.path) == 1 for slot in slots)


def _returns(name: str, body: Body) -> bool:
    """Whether a parameter is all that is returned, or the first or last item of a tuple."""
    returned = [s.value for s in walk(body, nested=False) if isinstance(s, Return)]
    ends = [(v.items[0], v.items[-1]) if isinstance(v, Display) and v.items else (v,) for v in returned]
    return bool(ends) and all(any(isinstance(v, Name) and v.id == name for v in some) for some in ends)
