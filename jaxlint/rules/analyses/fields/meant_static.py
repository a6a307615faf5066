"""Fields that are data though they are meant to be static: what their values do there."""

from __future__ import annotations

from jaxlint.finding import Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import (
    UNKNOWN,
    Array,
    Instance,
    Scalar,
    UnknownValue,
    Value,
    options,
    plain,
    without_none,
)
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.under_trace.traced import is_seen_to_cross


def annotated_value(field: Field, cls: PytreeClass, evaluator: Evaluator) -> Value:
    """What the annotation of a field says that it holds, `None` aside."""
    value: Value = evaluator.annotations.read(field.annotation, cls) if field.annotation is not None else UNKNOWN
    return plain(without_none(plain(value)))


def _value_of(field: Field, cls: PytreeClass, evaluator: Evaluator) -> Value:
    """What the annotation of a field says that it holds, or else its default."""
    value = annotated_value(field, cls, evaluator)
    if isinstance(value, UnknownValue) and field.default is not None:
        return plain(evaluator.static(field.default))
    return value


def leaf_consequence(field: Field, cls: PytreeClass, evaluator: Evaluator) -> str:
    """What the values of a field are that is data though it is meant to be static."""
    match _value_of(field, cls, evaluator):
        case Scalar(kind="str" | "bytes" as kind):
            return f"a leaf that jax.jit refuses (TypeError: {kind} is no JAX type)"
        case Scalar(kind="float" | "complex"):
            return "a leaf that jax.jit traces and jax.grad differentiates"
        case Scalar(kind="int" | "bool"):
            return "a leaf that jax.jit traces"
        case Instance(cls=held) if held.registered:
            return "data, and jax.jit traces its leaves"
    return "data, which jax.jit traces or, if it is no array, refuses (TypeError)"


def data_confidence(field: Field, cls: PytreeClass, evaluator: Evaluator, *, is_marked: bool) -> Confidence:
    """How certain it is that a field which is meant to be static does harm as data.

    It does where instances are seen to go into a transformation. It does, too, where they hold arrays and JAX refuses
    the value of the field, or Python may need to know it: if the field itself `is_marked` as static.
    """
    fails = _has_arrays(cls, evaluator) and _may_fail(field, cls, evaluator, is_marked=is_marked)
    return Confidence.HIGH if fails or is_seen_to_cross(cls, evaluator) else Confidence.LOW


def _may_fail(field: Field, cls: PytreeClass, evaluator: Evaluator, *, is_marked: bool) -> bool:
    """Whether jax refuses the values of the field, or Python may need what they are."""
    value = _value_of(field, cls, evaluator)
    if isinstance(value, Instance):
        return not value.cls.is_pytree and value.cls.bases_known
    kinds = ("str", "bytes", "int", "bool") if is_marked else ("str", "bytes")
    return isinstance(value, Scalar) and value.kind in kinds


def _has_arrays(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether some leaf may hold an array: the class is made for transformations."""
    annotated = [leaf.annotation for leaf in cls.leaves or () if leaf.annotation is not None]
    held = [one for annotation in annotated for one in options(plain(evaluator.annotations.read(annotation, cls)))]
    return any(isinstance(plain(one), Array) for one in held)
