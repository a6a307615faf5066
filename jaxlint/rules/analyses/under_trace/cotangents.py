"""What the backward function of a `jax.custom_vjp` returns: one cotangent for each argument, of the same structure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Instance, plain
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.syntax.expressions import Attribute, Call, DictDisplay, Display, Expr, kind_written

#: The decorator, and the method that says how the derivative is computed.
_CUSTOM = "jax.custom_vjp"
DEFINING = "defvjp"


class Cotangent(msgspec.Struct, frozen=True):
    """A cotangent that has another structure than the argument: where it is, what it is, and for what."""

    at: object
    kind: str
    parameter: str
    cls: PytreeClass
    function: str


def other_cotangents(call: Call, code: CodeRead, evaluator: Evaluator) -> Iterator[Cotangent]:
    """The containers that a backward function returns in the place of instances of a class, by `f.defvjp(fwd, bwd)`."""
    func = call.func
    if not isinstance(func, Attribute) or func.attr != DEFINING or len(call.positional) != 2 or len(call.args) != 2:
        return
    primal, backward = (_function(one, code, evaluator) for one in (func.value, call.positional[1]))
    if primal is None or backward is None or backward.module is not code.place.module:
        return
    applied = evaluator.calls.transformed.decorating(primal.declaration, primal.module)
    if [one.transform.name for one in applied] != [_CUSTOM] or applied[0].options:
        return  # `nondiff_argnums` takes arguments out
    parameters = primal.declaration.parameters
    if backward.declaration.decorators or any(p.kind != "positional" for p in parameters):
        return
    for returned in backward.declaration.return_values:
        if not isinstance(returned, Display) or returned.has_star or len(returned.items) != len(parameters):
            continue
        for parameter, item in zip(parameters, returned.items, strict=True):
            kind = _kind(item)
            if kind is None or parameter.annotation is None:
                continue
            place = Placed(parameter.annotation, primal.module, primal.declaration.scope)
            declared = plain(evaluator.annotations.read(place))
            if isinstance(declared, Instance) and declared.cls.is_pytree:
                yield Cotangent(item.at, kind, parameter.name, declared.cls, backward.declaration.name)


def _function(expr: Expr, code: CodeRead, evaluator: Evaluator) -> FunctionSymbol | None:
    symbol = evaluator.model.resolver.resolve(expr, code.place.module, code.scope)
    return symbol if isinstance(symbol, FunctionSymbol) else None


def _kind(item: Expr) -> str | None:
    """The kind of container that an expression writes out."""
    kind = kind_written(item) if isinstance(item, (Display, DictDisplay)) else ""
    return kind if kind in ("list", "tuple", "dict") else None
