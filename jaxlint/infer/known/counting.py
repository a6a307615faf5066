"""Numbers that a loop counts: `i += 1`, `rate = rate * 0.9`."""

from __future__ import annotations

from msgspec.structs import replace

from jaxlint.infer.known.deferred import Deferred, Held
from jaxlint.infer.known.values import Container, Scalar, Value
from jaxlint.syntax.expressions import Binary, Constant, Expr, Name
from jaxlint.syntax.names_read import names_in
from jaxlint.syntax.statements import Assign, Augment, Body, Statement, walk

#: How many values are few: a parity or a phase compiles that often, and then no more.
FEW = 8


def is_few(expr: Expr) -> bool:
    """Whether an expression is a small number: of what it bounds there are few values."""
    return isinstance(expr, Constant) and isinstance(expr.value, int) and abs(expr.value) <= FEW


def counted_name(statement: Statement) -> str | None:
    """The variable that a statement computes from what it was before."""
    match statement:
        case Augment(target=Name(id=name)):
            return name
        case Assign(targets=(Name(id=name),), value=Binary() as value) if any(names_in(value, name)):
            return name
    return None


def counted_names(body: Body) -> set[str]:
    """The variables that a loop counts."""
    return {name for s in walk(body, nested=False) if (name := counted_name(s)) is not None}


def counting(held: Held) -> Held:
    """A value that is another one at the next turn of the loop, if it is a number."""
    return _mapped(held, varying=True)


def swept(held: Held) -> Held:
    """The element of an iterable as a loop sees it: a float is another one at each turn."""
    if isinstance(held, Deferred):
        return Deferred(lambda: swept_value(held.value), (held,))
    return swept_value(held)


def swept_value(value: Value) -> Value:
    """`swept` for a value that is already evaluated."""
    if isinstance(value, Container) and value.kind == "tuple" and value.items is not None:
        return replace(value, items=tuple(map(swept_value, value.items)))
    return Scalar("float", varying=True) if value == Scalar("float") else value


def settled(held: Held) -> Held:
    """The value after the loop: what an inner loop has counted is the same at each turn of the outer one."""
    return _mapped(held, varying=False)


def is_swept(value: Value) -> bool:
    """Whether a value is a number that is another one at the next turn of a loop."""
    return isinstance(value, Scalar) and value.varying and value.kind in ("int", "float")


def _mapped(held: Held, *, varying: bool) -> Held:
    if isinstance(held, Deferred):
        return Deferred(lambda: _as(held.value, varying), (held,))
    return _as(held, varying)


def _as(value: Value, varying: bool) -> Value:
    return Scalar(value.kind, varying) if isinstance(value, Scalar) and value.kind in ("int", "float") else value
