"""Which instances have tracers as leaves: what a transformed function is given, wherever that goes from there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from jaxlint.infer.calls.made_of_jax import stays_of_jax
from jaxlint.infer.known.deferred import Values
from jaxlint.infer.known.transformed_values import marked
from jaxlint.infer.known.values import (
    Array,
    Choice,
    Container,
    Instance,
    Method,
    Scalar,
    Symbolic,
    Value,
    as_instance,
    holds_pytrees,
    plain,
)
from jaxlint.infer.transforms.applied import abstracting, rebuilt_parameters
from jaxlint.infer.transforms.transformed import TransformedFunctions
from jaxlint.libraries.updates import REPLACE_FUNCTIONS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External
from jaxlint.pytrees.framework import Role
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Binary, Call, Expr, Unary, dotted, is_none

if TYPE_CHECKING:
    from jaxlint.infer.evaluating.evaluate import Evaluator

#: Functions of Python that hand on the very objects that they are given.
_HANDING_ON = ("builtins.", "itertools.", "collections.", "operator.", "typing.", "functools.", "copy.")
#: What may be, or hold, an instance.
_HOLDING = (Instance, Container, Choice)


def as_tracers(
    parameters: Mapping[str, Value], function: Function, module: Module, transformed: TransformedFunctions
) -> dict[str, Value]:
    """The parameters of a function, with a mark on the instances that a transformation gives it.

    One that may be left out is not marked: its default is what it is.
    """
    if not any(map(holds_pytrees, parameters.values())):
        return dict(parameters)
    applied = list(transformed.of(function, module))
    if module.outline.applying:  # some of that is read later
        calls = transformed.applications.in_module(module)
        applied += [one.applied for one in calls if one.function.declaration is function]
    tracing = abstracting(applied) if applied else []
    names = set(rebuilt_parameters(function, tracing)) if tracing else set()
    names -= left_out(function)
    return {name: marked(plain(v), traced=True) if name in names else v for name, v in parameters.items()}


def left_out(function: Function) -> set[str]:
    """The parameters of a function that may be left out, and have a default other than None then: that is no tracer."""
    return {p.name for p in function.parameters if p.default is not None and not is_none(p.default)}


def handed_on(func: Method | Symbolic, call: Call, values: Values, returned: Value, evaluator: Evaluator) -> Value:
    """What a function of a library returns: instances are others than those that it was given, if it makes any.

    A copy is traced, and holds arrays of jax, like the original, but for what it is given.
    """
    if type(returned) not in _HOLDING:
        return returned
    copied: Value | None = None
    match func:
        case Method(receiver=receiver, name=name):
            if not isinstance(receiver, Instance):
                return returned
            copied = receiver if name == receiver.cls.framework.replace_method else None
        case Symbolic(symbol=External(name=name)):
            if name in REPLACE_FUNCTIONS and values:
                copied = as_instance(values[0])
            elif name.startswith(_HANDING_ON):
                return returned
    if not isinstance(copied, Instance) or copied.traced is None or call.has_star:
        made = marked(returned, traced=False)
        is_of_jax = isinstance(copied, Instance) and stays_of_jax(copied, call, values, evaluator)
        return made if is_of_jax else _as_made(made)
    original = dotted(
        call.func.value if isinstance(func, Method) and isinstance(call.func, Attribute) else call.args[0].value
    )
    anew = {
        argument.keyword
        for argument, value in zip(call.args, values, strict=True)
        if argument.keyword is not None
        and not _is_of_jax(plain(value))
        and not (_is_number(plain(value)) and _computes_with(argument.value, original, copied))
    }
    return replace(returned, traced=copied.traced | anew) if isinstance(returned, Instance) else returned


def _as_made(value: Value) -> Value:
    """What a function of a library has made of what a compiled one returned: arrays of numpy may be in it."""
    return replace(value, holds_jax=False) if isinstance(value, Instance) and value.holds_jax else value


def _is_of_jax(value: Value) -> bool:
    """Whether a value is an array of jax, which is a tracer where something is traced."""
    return isinstance(value, Array) and value.library == "jax" and not value.declared


def _is_number(value: Value) -> bool:
    return isinstance(value, Scalar) and value.kind in ("int", "float", "bool")


def _computes_with(expr: Expr, name: str | None, instance: Instance) -> bool:
    """Whether an expression is a leaf of a traced instance, by the name that this has, or a sum with one."""
    match expr:
        case Attribute(value=held, attr=attr):
            field = instance.cls.field(attr) if name is not None and dotted(held) == name else None
            return field is not None and field.role is Role.LEAF and attr not in (instance.traced or ())
        case Binary(left=left, right=right):
            return _computes_with(left, name, instance) or _computes_with(right, name, instance)
        case Unary(op="-" | "+", operand=operand):
            return _computes_with(operand, name, instance)
    return False
