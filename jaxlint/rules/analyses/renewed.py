"""Calls of compiled functions that change what they are given, and return it: jax gives them a copy of it."""

from __future__ import annotations

from jaxlint.infer.applied import rebuilt_parameters
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import CodeRead, Replace
from jaxlint.infer.slots import slot_of
from jaxlint.infer.values import Instance, plain
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.local_instances import LocalInstances
from jaxlint.rules.analyses.traced_leaves import is_overridden
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Display, Expr, Name
from jaxlint.syntax.statements import Assign, Augment, Body, Return, bound_names, walk


def renewed_by(call: Call, code: CodeRead, evaluator: Evaluator) -> Replace | None:
    """The update that a call is, if its function is compiled, sets attributes of an instance and returns that.

    Outside of compiled code, the caller's own instance would be changed.
    """
    found = None if call.has_star else _called(call, code, evaluator)
    if found is None:
        return None
    symbol, given = found
    function, module = symbol.declaration, symbol.module
    transformed = evaluator.calls.transformed
    if function.is_generator or function.is_async or transformed.is_wrapped(function, module):
        return None
    rebuilt = rebuilt_parameters(function, transformed.decorating(function, module))
    given = {name: expr for name, expr in given.items() if name in rebuilt}
    body = evaluator.calls.body_of(symbol) if given else None
    if body is None:
        return None
    for name, expr in given.items():
        if not (_changes(name, body) and _returns(name, body)):
            continue
        instance = plain(LocalInstances.of(code, evaluator).value(expr))
        if isinstance(instance, Instance) and _is_copied(instance.cls):
            beside = any(isinstance(value, Display) for value in function.return_values)
            return Replace(call.at, code.place, call, expr, instance, function.name, (), False, False, beside=beside)
    return None


def _is_copied(cls: PytreeClass) -> bool:
    """Whether an instance can be changed, and what compiled code is given is another one."""
    return cls.is_pytree and cls.frozen is False and not cls.framework.is_stateful


def _called(call: Call, code: CodeRead, evaluator: Evaluator) -> tuple[FunctionSymbol, dict[str, Expr]] | None:
    """The decorated function, or method of an instance, that is called; and what its parameters are given."""
    symbol = evaluator.model.resolver.resolve(call.func, code.place.module, code.scope)
    if isinstance(symbol, FunctionSymbol) and symbol.declaration.owner is None and symbol.declaration.decorators:
        return symbol, call.given_to(_positional(symbol.declaration))
    if isinstance(symbol, FunctionSymbol) or not isinstance(call.func, Attribute):
        return None
    receiver = call.func.value
    instance = plain(LocalInstances.of(code, evaluator).value(receiver))
    if not isinstance(instance, Instance) or is_overridden(call.func.attr, instance, evaluator):
        return None
    found = instance.cls.method(call.func.attr)
    if found is None or not found[1].decorators or found[1].self_name is None:
        return None
    positional = _positional(found[1])
    given = call.given_to(positional[1:]) | {positional[0]: receiver}
    return FunctionSymbol(found[0].module, found[1]), given


def _positional(function: Function) -> list[str]:
    return [p.name for p in function.parameters if p.kind == "positional"]


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
