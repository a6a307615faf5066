"""Updates that make a field longer or shorter: the new shape compiles again, whatever else they put into the copy."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, FieldEvent
from jaxlint.rules.analyses.bodies.around import outermost_body
from jaxlint.rules.analyses.fields.growing import made_longer
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Display,
    Expr,
    Starred,
    Subscript,
    is_everything,
    is_slice,
    last_name,
)
from jaxlint.syntax.statements import bound_once, looked_up

#: Functions that make arrays of other shapes.
_LENGTHENING = frozenset("pad concatenate append repeat tile vstack hstack stack resize zeros ones full empty".split())
#: Those of them that make them of the array that they are given first.
_OF_ONE = frozenset("pad repeat tile resize".split())


def grows(event: FieldEvent) -> bool:
    """Whether another field gets a longer or shorter tuple, list or array then: that compiles again, too."""
    if isinstance(event, AssignAttribute):
        return False
    for argument in event.call.args:
        value = argument.value
        sides = (value.left, value.right) if isinstance(value, Binary) and value.op == "+" else ()
        starred = isinstance(value, Display) and any(isinstance(item, Starred) for item in value.items)
        lengthens = isinstance(value, Call) and last_name(value.func) in _LENGTHENING
        if starred or lengthens or any(isinstance(side, Display) for side in sides) or _is_cut(value, argument.keyword):
            return True
    return False


def _is_cut(value: Expr, name: str | None) -> bool:
    """Whether a field is computed of a part of what it was: `x=s.x[1:] - s.x[:-1]`."""
    match value:
        case Binary(left=left, right=right):
            return _is_cut(left, name) or _is_cut(right, name)
        case Subscript(value=Attribute(attr=attr), index=index) if attr == name and is_slice(index):
            return not is_everything(index)
    return False


def is_resized(event: FieldEvent, evaluator: Evaluator) -> bool:
    """Whether a field gets more or less of what it was: `x=jnp.append(s.x, y)`, `x=jnp.repeat(s.x, 2)`, `x=s.x[1:]`."""
    if isinstance(event, AssignAttribute):
        return False
    bound = bound_once(outermost_body(event.place, evaluator)) if event.place.functions else {}
    for argument in event.call.args:
        value = looked_up(argument.value, bound)
        held = made_longer(value)
        if held is None and isinstance(value, Call) and last_name(value.func) in _OF_ONE and value.positional:
            held = value.positional[0]
        if isinstance(held, Attribute) and argument.keyword in (None, held.attr):
            return True
        whole = value.value if argument.keyword is None and isinstance(value, Subscript) else None
        if _is_cut(value, whole.attr if isinstance(whole, Attribute) else argument.keyword):
            return True
    return False
