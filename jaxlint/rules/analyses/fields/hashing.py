"""Whether a value can be hashed, as static arguments of `jax.jit` must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.promises import made_by_defaults
from jaxlint.infer.known.values import (
    NONE,
    UNKNOWN,
    Array,
    Container,
    Instance,
    Scalar,
    UnknownValue,
    Value,
    element_of,
    plain,
)
from jaxlint.libraries.updates import TRAIN_STATE
from jaxlint.pytrees.hashing import hashes_fields, is_hashable
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.instances.given_literals import is_given, is_given_no_array

#: What the parameters of a constructor are given.
Given: TypeAlias = Mapping[str, Value]


class Unhashable(msgspec.Struct, frozen=True):
    """Why a value cannot be hashed, and what to do about it, both as parts of a sentence."""

    what: str
    way_out: str


_DISPLAYS = {
    "list": Unhashable("a list", "pass a tuple"),
    "dict": Unhashable("a dict", "pass a tuple of pairs, or a frozen dataclass"),
    "set": Unhashable("a set", "pass a frozenset"),
}
_TRACE = "pass it as an ordinary argument"


_NOTHING = frozenset({"NoneType"})
#: How deep what instances hold is looked into: a class may hold instances of itself.
_DEEP = 3


def unhashable(
    value: Value, evaluator: Evaluator, made: Given | None = None, *, deep: int = _DEEP
) -> Unhashable | None:
    """Why a value certainly cannot be hashed; None if it can be, or if that is not known.

    `made` is what the constructor was given that made the instance, if that is seen.
    """
    value = plain(value)
    match value:
        case Container(kind="list" | "dict" | "set" as kind, declared=False):
            return _DISPLAYS[kind]
        case Container(kind="tuple", items=items) if items is not None:
            found = (unhashable(item, evaluator) for item in items)
            inner = next((f for f in found if f is not None), None)
            return None if inner is None else Unhashable(f"a tuple that holds {inner.what}", inner.way_out)
        case Array(library="jax", declared=False):
            return Unhashable("a jax array", _TRACE)
        case Array(library="numpy", declared=False):
            return Unhashable("a numpy array", _TRACE)
        case Scalar(kind="bytearray"):
            return Unhashable("a bytearray", "pass bytes")
        case Instance(cls=cls) if made is not None:
            return unhashable_instance(cls, evaluator, made, deep=deep)
        case Instance(cls=cls, exact=exact):
            first: Unhashable | None = None
            for one in evaluator.model.family(cls, exact=exact):  # the others are read only if the first says so
                reason = unhashable_instance(one, evaluator, deep=deep)
                if reason is None:
                    return None
                first = first or reason
            return first
    return None


def unhashable_kind(kind: str) -> Unhashable:
    """What there is to say of a list, a dict or a set."""
    return _DISPLAYS[kind]


def unhashable_instance(
    cls: PytreeClass, evaluator: Evaluator, made: Given | None = None, *, deep: int = _DEEP
) -> Unhashable | None:
    """Why instances of a class, or the one that was `made` of some values, certainly cannot be hashed."""
    if made is not None:
        return _found(cls, evaluator, made, deep)
    asked = unhashable_instance, cls.symbol.key, deep  # by each call that gives a static argument
    return evaluator.model.once(asked, lambda: _found(cls, evaluator, None, deep))


def _found(cls: PytreeClass, evaluator: Evaluator, made: Given | None, deep: int) -> Unhashable | None:
    hashable = is_hashable(cls)
    if hashable is False:
        if all(one.params is None for one in cls.mro) and not cls.is_pytree:
            return Unhashable(f"`{cls.name}` has `__eq__` and no `__hash__`", f"give `{cls.name}` a `__hash__`")
        way_out = _TRACE if cls.is_pytree else f"declare `{cls.name}` with `frozen=True`"
        return Unhashable(f"`{cls.name}` compares by value and is not frozen", way_out)
    if hashable is None or not hashes_fields(cls):
        return None
    for field in cls.fields:
        value = _given(field, made, evaluator) if made is not None and _is_hashed(field) else UNKNOWN
        as_given = not cls.has_own_construction and not field.is_converted
        inner = unhashable(value, evaluator) if as_given else None
        if inner is not None and inner.way_out != _TRACE:
            return Unhashable(f"`{cls.name}` holds {inner.what} in `{field.name}`", inner.way_out)
        arrays = not isinstance(value, Scalar) and _holds_arrays(field, cls, evaluator)
        if _is_hashed(field) and (inner is not None or arrays):
            way_out = _TRACE if cls.is_pytree else f"register `{cls.name}` as a pytree, and {_TRACE}"
            return Unhashable(f"`{cls.name}` holds arrays in `{field.name}`", way_out)
        held = _held(field, cls, evaluator) if isinstance(value, UnknownValue) and deep and _is_hashed(field) else ()
        reasons = [unhashable(one, evaluator, deep=deep - 1) for one in held]
        if reasons and reasons[0] is not None and None not in reasons:
            return Unhashable(f"{reasons[0].what}, which `{cls.name}` holds in `{field.name}`", reasons[0].way_out)
    return None


def _held(field: Field, cls: PytreeClass, evaluator: Evaluator) -> Sequence[Instance]:
    """The instances of which a field certainly holds one, or a container of such.

    They are those that a method is seen to assign, or the one that its annotation says.
    """
    if field.annotation is None or (field.default is not None and plain(evaluator.static(field.default)) == NONE):
        return ()
    promised = _instance(evaluator.promises.field(field, cls))
    if promised is not None and not is_given(_NOTHING, field, cls, evaluator):
        return (promised,)
    assigned = cls.assigned.get(field.name) or ()
    seen = [None if one is None else _instance(evaluator.static(one)) for one in assigned]
    return [one for one in seen if one is not None] if None not in seen else ()


def _instance(value: Value) -> Instance | None:
    """The instance that a value is, or that a container holds which is not empty."""
    value = plain(value)
    if isinstance(value, Container):
        value = plain(element_of(value) if value.items is None else value.items[0] if value.items else UNKNOWN)
    return value if isinstance(value, Instance) else None


def _given(field: Field, made: Given, evaluator: Evaluator) -> Value:
    """What a field was given, or its default, or what its factory makes."""
    if field.name in made:
        return plain(made[field.name])
    by_default = made_by_defaults(field)
    return plain(evaluator.static(by_default[0])) if by_default else UNKNOWN


def array_field(cls: PytreeClass, evaluator: Evaluator) -> Field | None:
    """A field that certainly holds arrays."""
    return next((f for f in cls.fields if _holds_arrays(f, cls, evaluator)), None)


def _is_hashed(field: Field) -> bool:
    """Whether nothing takes the field out of the hash of its instance."""
    return field.call is None or field.call.keywords.isdisjoint({"hash", "compare"})


def _holds_arrays(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    if field.owner.full_name == TRAIN_STATE and field.name == "params":
        return True  # a tree of arrays, which its annotation does not say
    if field.annotation is not None:
        if not isinstance(plain(evaluator.promises.field(field, cls)), Array):
            return False
        default = NONE if field.default is None else plain(evaluator.static(field.default))
        if field.default is not None and (default == NONE or isinstance(default, Scalar)):
            return False  # it need not be given an array
        return not is_given_no_array(field, cls, evaluator)
    return field.assigned is not None and isinstance(plain(evaluator.static(field.assigned)), Array)


def lacks_equality(cls: PytreeClass) -> bool:
    """Whether two instances of a class are certainly never equal."""
    if cls.is_pytree or not cls.bases_known or cls.unknown_decorator or cls.base_constructs or cls.eq is True:
        return False
    declaration = cls.symbol.declaration
    if any(argument.keyword == "metaclass" for argument in declaration.bases) or cls.abstract_methods:
        return False
    if any(len(c.symbol.declaration.bases) != len(c.parents) for c in cls.mro):
        return False  # a protocol, say, which other classes fulfil
    made_equal = (c.params is not None and c.params.eq is not False for c in cls.mro)
    return not any(made_equal) and not cls.answers("__eq__")
