"""Methods that are put into leaves where what they return is meant: `state.replace(norm=state.norm.updated)`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Construct, KeywordValue, Replace
from jaxlint.infer.known.values import Array, FunctionValue, Instance, Scalar, plain
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.fields.functions_held import refusal
from jaxlint.rules.base import Problem
from jaxlint.syntax.expressions import Attribute


def uncalled(event: Construct | Replace, evaluator: Evaluator) -> Iterator[Problem]:
    """The methods that an instance which goes into a transformation, or comes out, is given without their call."""
    cls = event.cls.cls if isinstance(event, Construct) else event.receiver.cls
    for argument, field, what in _given(event, cls, evaluator):
        traced = evaluator.traced.of(cls)
        if traced is not None:
            way_out = "call it: `()`"
            yield Problem(
                at=argument.at,
                message=(
                    f"field `{field.name}` of `{cls.name}` is a leaf and given {what} itself, which is not called:"
                    f" {refusal(traced)}; {way_out}"
                ),
                reason="the leaves of what goes into a transformation must be arrays or numbers",
                help=way_out,
            )


def _given(
    event: Construct | Replace, cls: PytreeClass, evaluator: Evaluator
) -> Iterator[tuple[KeywordValue, Field, str]]:
    """The leaves that are given a method which needs no argument, though they are for what is no function.

    With each what the method is, in words. The methods of equinox's modules are pytrees.
    """
    ats = {id(a.at) for a in event.call.args if isinstance(a.value, Attribute)}
    for argument in event.arguments if isinstance(event, Construct) else event.keywords:
        match plain(argument.value) if id(argument.at) in ats else None:
            case FunctionValue(receiver=Instance(cls=owner), symbol=symbol) if not owner.framework.filters:
                method, field = symbol.declaration, cls.field(argument.name)
                if method.decorators or method.self_name is None or field is None or field.role is not Role.LEAF:
                    continue
                if all(p.default is not None or p.kind[0] == "*" for p in method.parameters[1:]):
                    if not field.is_converted and _is_no_function(field, cls, evaluator):
                        yield argument, field, f"the method `{method.name}` of `{owner.name}`"


def _is_no_function(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an annotation says that a field holds an array, a number, or an instance that cannot be called."""
    match None if field.annotation is None else plain(evaluator.annotations.read(field.annotation, cls)):
        case Array() | Scalar():
            return True
        case Instance(cls=held):
            return held.method("__call__") is None and held.bases_known
    return False
