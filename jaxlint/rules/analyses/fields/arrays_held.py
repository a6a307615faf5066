"""Whether values hold arrays, themselves or in what they contain."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import (
    NONE,
    UNKNOWN,
    Array,
    Choice,
    Container,
    Instance,
    Scalar,
    UnknownValue,
    Value,
    arrays_in,
    plain,
)
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.syntax.expressions import Constant

_MAX_DEPTH = 5


def declared_value(field: Field, cls: PytreeClass, evaluator: Evaluator) -> Value:
    """What the annotation of a field (or the assignment in `__init__`) says that it holds."""
    value = evaluator.promises.field(field, cls)
    if isinstance(value, UnknownValue) and field.assigned is not None:
        assigned = plain(evaluator.static(field.assigned))
        return assigned if any(a.single is False for a in arrays_in(assigned)) else UNKNOWN
    return value


def holds_array(value: Value, cls: PytreeClass, evaluator: Evaluator, depth: int = 0) -> bool | None:
    """True if values of this description hold an array, False if some do, None if none is known to.

    `cls` is the class whose static field it is: mjx keeps numpy arrays apart by their content.
    """
    if depth > _MAX_DEPTH:
        return None
    match plain(value):
        case Array(library=library, single=single):
            allowed = single is True or (cls.framework.compares_numpy and library == "numpy")
            return None if allowed else True
        case Container(items=items, element=element):
            parts = items if items is not None else (element,)
            found = [holds_array(p, cls, evaluator, depth + 1) for p in parts]
            return True if True in found else False if False in found else None
        case Choice(options=options):
            held = [option for option in options if option != NONE]
            if any(map(_is_of_numbers, held)):  # an array may be one in the place of a number, or of some
                held = [o for o in held if not isinstance(o, Array) or o.single is False]
            found = [holds_array(option, cls, evaluator, depth + 1) for option in held]
            if not any(f is not None for f in found):
                return None
            return all(f is True for f in found)
        case Instance(cls=inner):
            if inner.eq is not True or not inner.framework.compares_fields:
                return None  # compared by identity, or by a method that may know arrays
            declared = [f for f in inner.fields if f.annotation is not None and not _is_empty_at_first(f)]
            held = [declared_value(field, inner, evaluator) for field in declared]
            found = [holds_array(one, inner, evaluator, depth + 1) for one in held]
            return True if True in found else None
    return None


def _is_empty_at_first(field: Field) -> bool:
    """Whether the default of a field is None: nothing tells that something is put there."""
    default = None if field.default is None else field.default.expr
    return isinstance(default, Constant) and default.kind == "NoneType"


def _is_of_numbers(value: Value) -> bool:
    """Whether a value is a Python number, or a sequence of them."""
    value = plain(value)
    if isinstance(value, Container):
        return all(isinstance(plain(one), Scalar) for one in (value.items or (value.element,)))
    return isinstance(value, Scalar)
