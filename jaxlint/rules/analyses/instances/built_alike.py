"""What the fields of two instances hold that are made where they are compared: the same objects, or single numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set

from jaxlint.infer.evaluating.events import CodeRead, Construct
from jaxlint.infer.known.values import Array, Scalar, Value, plain
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.same_objects import given_in
from jaxlint.syntax.expressions import Call, Constant, Expr, Name, dotted, last_name


def same_in_both(left: Expr, right: Expr, cls: PytreeClass, given: Callable[[str], Iterable[Expr]]) -> Set[str]:
    """The fields of which two instances hold the same objects: what they are made with has the same name.

    `given` tells the values that a variable is given.
    """
    one, other = (dict(_names(instance, cls, given)) for instance in (left, right))
    return {field.name for field in cls.fields if not one[field.name].isdisjoint(other[field.name])}


def behind_unlike(
    left: Expr, right: Expr, names: list[str], cls: PytreeClass, given: Callable[[str], Iterable[Expr]]
) -> Set[str]:
    """Those of some fields that are never compared: two instances are made with other constants for one before them."""
    calls = [_made(instance, cls, given) for instance in (left, right)]
    one, other = ({} if call is None else _arguments(call, cls) for call in calls)
    for index, name in enumerate(names):
        match one.get(name), other.get(name):
            case Constant(value=first, kind=kind), Constant(value=second, kind=same) if (
                kind == same and first != second
            ):
                return set(names[index:])
    return frozenset()


def single_in_one(left: Expr, right: Expr, cls: PytreeClass, code: CodeRead) -> Set[str]:
    """The fields of which one of two instances is made with a number, or an array of one element."""
    values = given_in(code)
    calls = {id(_made(one, cls, lambda name: values.get(name, ()))) for one in (left, right)}
    made = (event for event in code.events if isinstance(event, Construct) and id(event.call) in calls)
    return {a.name for one in made for a in one.arguments if _is_single(plain(a.value))}


def _names(instance: Expr, cls: PytreeClass, given: Callable[[str], Iterable[Expr]]) -> Iterator[tuple[str, set[str]]]:
    """The names of what each field of an instance holds: `instance.x`, and what the constructor is given for it."""
    call = _made(instance, cls, given)
    parts = {} if call is None else _arguments(call, cls)
    whole = call.args[0] if call is not None and len(call.args) == 1 and cls.framework.is_tuple else None
    unpacked = None if whole is None or whole.star != "*" else dotted(whole.value)
    for field in cls.fields:
        written = dotted(parts[field.name]) if field.name in parts else None
        paths = {f"{one}.{field.name}" for one in (dotted(instance), unpacked) if one is not None}
        yield field.name, paths if written is None else paths | {written}


def _made(instance: Expr, cls: PytreeClass, given: Callable[[str], Iterable[Expr]]) -> Call | None:
    """The call of the class that an expression is, or that all of what a variable is given is."""
    if isinstance(instance, Name):
        values = list(given(instance.id))
        instance = values[0] if len(values) == 1 else instance
    return instance if isinstance(instance, Call) and last_name(instance.func) == cls.name else None


def _arguments(call: Call, cls: PytreeClass) -> Mapping[str, Expr]:
    """What a call of the class gives its fields, if the constructor only stores that."""
    parameters = cls.constructor()
    if call.has_star or parameters is None or cls.has_own_construction:
        return {}
    return call.given_to(p.name for p in parameters if p.kind == "positional")


def _is_single(value: Value) -> bool:
    return isinstance(value, Scalar) or (isinstance(value, Array) and value.single is True)
