"""Which instances have tracers as leaves: what a transformed function is given, wherever that goes from there."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from jaxlint.infer.known.deferred import Values
from jaxlint.infer.known.values import (
    Array,
    Choice,
    Container,
    Instance,
    Method,
    Symbolic,
    Value,
    as_instance,
    marked,
    plain,
)
from jaxlint.infer.transforms.applied import abstracting, rebuilt_parameters
from jaxlint.infer.transforms.transformed import TransformedFunctions
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External
from jaxlint.pytrees.updating import REPLACE_FUNCTIONS
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, is_none

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
    if not any([type(value) is Instance and value.cls.is_pytree for value in parameters.values()]):
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


def handed_on(func: Method | Symbolic, call: Call, values: Values, returned: Value) -> Value:
    """What a function of a library returns: instances are others than those that it was given, if it makes any.

    A copy is traced like the original, but for what it is given.
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
        return marked(returned, traced=False)
    given = zip(call.args, values, strict=True)
    anew = {a.keyword for a, value in given if a.keyword is not None and not _is_of_jax(plain(value))}
    return replace(returned, traced=copied.traced | anew) if isinstance(returned, Instance) else returned


def _is_of_jax(value: Value) -> bool:
    """Whether a value is an array of jax, which is a tracer where something is traced."""
    return isinstance(value, Array) and value.library == "jax" and not value.declared
