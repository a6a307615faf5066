"""Which instances hold arrays of jax for certain, as they are made of such."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxlint.infer.evaluating.events import KeywordValue
from jaxlint.infer.known.deferred import Values, known
from jaxlint.infer.known.values import UNKNOWN, Array, Container, Instance, Scalar, UnknownValue, Value, plain
from jaxlint.pytrees.framework import Role
from jaxlint.syntax.expressions import Call

if TYPE_CHECKING:
    from jaxlint.infer.evaluating.evaluate import Evaluator
    from jaxlint.pytrees.model import Field, PytreeClass


def is_made_of_jax(cls: PytreeClass, given: Sequence[KeywordValue], evaluator: Evaluator) -> bool:
    """Whether a constructor gets an array of jax for each leaf that may be said to be, or to hold, arrays.

    What can be assigned may be something else later.
    """
    if not given or cls.frozen is not True:
        return False
    stored = evaluator.calls.stored_parameters(cls)
    put = {stored.get(one.name): plain(one.value) for one in given}
    found = False
    for field in cls.fields:
        if field.role is not Role.LEAF:
            continue
        value = put.get(field.name, UNKNOWN)
        if field.name not in put and field.default is not None:
            value = plain(evaluator.static(field.default))
        if _is_of_jax(value):
            found = True
        elif not isinstance(value, Scalar) or _may_hold_arrays(field, cls, evaluator):
            return False
    return found


def stays_of_jax(instance: Instance, call: Call, values: Values, evaluator: Evaluator) -> bool:
    """Whether a copy of an instance that holds arrays of jax gets nothing else for such leaves by a call."""
    if not instance.holds_jax or call.has_star:
        return False
    for argument, held in zip(call.args, values.held, strict=True):
        field = instance.cls.field(argument.keyword or "")
        if field is not None and field.role is Role.LEAF and not _is_of_jax(plain(known(held))):
            if _may_hold_arrays(field, instance.cls, evaluator):
                return False
    return True


def _is_of_jax(value: Value) -> bool:
    """Whether a value certainly is an array of jax, or an instance that holds such."""
    match value:
        case Array(library=library, declared=declared):
            return library == "jax" and not declared
        case Instance(holds_jax=holds_jax):
            return holds_jax
        case Container(items=tuple(items)) if items:
            return all([_is_of_jax(plain(item)) for item in items])
    return False


def _may_hold_arrays(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a field is said to be something else than a number of Python, and something at all."""
    return not isinstance(plain(evaluator.promises.field(field, cls)), (UnknownValue, Scalar))
