"""What the fields of two instances hold that are made where they are compared: the same objects, or single numbers."""

from __future__ import annotations

from collections.abc import Iterator, Set

from jaxlint.infer.evaluating.events import CodeRead, Construct
from jaxlint.infer.known.values import Array, Scalar, Value, plain
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.same_objects import given_in
from jaxlint.syntax.expressions import Call, Expr, Name, dotted


def same_in_both(left: Expr, right: Expr, cls: PytreeClass, code: CodeRead) -> Set[str]:
    """The fields of which two instances hold the same objects: what they are made with has the same name."""
    held = [dict(_names(one, cls, code)) for one in (left, right)]
    return {f.name for f in cls.fields if not held[0].get(f.name, set()).isdisjoint(held[1].get(f.name, ()))}


def single_in_one(left: Expr, right: Expr, cls: PytreeClass, code: CodeRead) -> Set[str]:
    """The fields of which one of two instances is made with a number, or an array of one element."""
    made = (_made(one, cls, code) for one in (left, right))
    return {a.name for one in made if one is not None for a in one.arguments if _is_single(plain(a.value))}


def _names(instance: Expr, cls: PytreeClass, code: CodeRead) -> Iterator[tuple[str, set[str]]]:
    """The names of what each field of an instance holds: `instance.x`, and what the constructor is given for it."""
    path, made = dotted(instance), _made(instance, cls, code)
    call = None if made is None else made.call
    given = {a.name: e for a in (made.arguments if made is not None else ()) if (e := _given(a.at, made)) is not None}
    whole = next((dotted(a.value) for a in call.args if a.star == "*"), None) if call is not None else None
    for field in cls.fields:
        written = dotted(given[field.name]) if field.name in given else None
        unpacked = whole if cls.framework.is_tuple and call is not None and len(call.args) == 1 else None
        paths = {f"{one}.{field.name}" for one in (path, unpacked) if one is not None}
        yield field.name, paths | ({written} if written is not None else set())


def _made(instance: Expr, cls: PytreeClass, code: CodeRead) -> Construct | None:
    """The construction that an expression is, or that all of what a variable is given is."""
    if isinstance(instance, Name):
        values = given_in(code).get(instance.id, ())
        instance = values[0] if len(values) == 1 else instance
    if not isinstance(instance, Call):
        return None
    events = (event for event in code.events if isinstance(event, Construct) and event.call is instance)
    made = next(events, None)
    return made if made is not None and made.cls.cls is cls else None


def _given(at: object, made: Construct | None) -> Expr | None:
    """What a construction is given at a place, if it is written there."""
    return next((a.value for a in made.call.args if a.at is at and not a.star), None) if made is not None else None


def _is_single(value: Value) -> bool:
    return isinstance(value, Scalar) or (isinstance(value, Array) and value.single is True)
