"""The form of a tree: what JAX knows of a value while it traces, its structure and the types of its leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.spelling import with_article

#: The kinds of numbers, each of which is promoted to those after it; "inexact" is a float or a complex number.
_KINDS = ("bool", "int", "float", "inexact")
_ARTICLES = {"bool": "a boolean", "int": "an integer", "float": "a float", "inexact": "a float"}
_INEXACT = frozenset({"float", "inexact"})
#: The methods that are asked for what arithmetic with an instance gives.
_OPERATORS = frozenset(
    [
        f"__{r}{name}__"
        for r in ("", "r")
        for name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow")
    ]
    + [f"__{r}{name}__" for r in ("", "r") for name in ("and", "or", "xor", "lshift", "rshift")]
    + [f"__{name}__" for name in ("lt", "le", "gt", "ge", "array_ufunc")]
)


class Unknown(msgspec.Struct, frozen=True):
    """Anything; perhaps `is_none` says that it may well be None."""

    maybe_none: bool = False


class Something(msgspec.Struct, frozen=True):
    """Anything but None; an array by its annotation alone has items and results of methods that are no more."""

    declared_array: bool = False
    #: It has the structure of what is differentiated, whatever that is.
    gradient: bool = False


class Nothing(msgspec.Struct, frozen=True):
    """`None`, which is a part of the structure and no leaf."""


class Leaf(msgspec.Struct, frozen=True):
    """An array or a number: its kind (one of `_KINDS`, or "" for what is not known), and whether it is weak."""

    kind: str = ""
    #: Whether JAX adapts the type to others, as it does for Python's numbers; None if that is not known.
    weak: bool | None = None
    #: Whether it is one; if not, an operator of an instance may have made it, whose class says what it gives.
    sure: bool = True
    #: Which one it is, if it is written out: what a flag decides is not what happens where a caller gives the other.
    truth: bool | None = None


class Fixed(msgspec.Struct, frozen=True):
    """A constant in a static field, which is a part of the structure: its kind and how it is written."""

    kind: str
    value: str


class Static(Unknown, frozen=True):
    """What a static field holds where nothing else is known of it: a number tells it from what others hold."""

    number: int = 0


class Written(Unknown, frozen=True):
    """A literal that may be put into a static field: its value, and the name of its type or enum."""

    value: Any = None
    kind: str = ""


class Moved(Unknown, frozen=True):
    """Certainly another value than the one that a static field held, by a whole number if it counts."""

    of: Static | Fixed = Static()
    step: int | None = None


class Held(msgspec.Struct, frozen=True):
    """A tuple, a list or a dict; its keys are the positions or strings."""

    kind: str
    entries: Mapping[str, Form]


class State(msgspec.Struct, frozen=True):
    """An instance of a pytree class; fields of which nothing is known are not among those given."""

    cls: PytreeClass
    fields: Mapping[str, Form]
    #: Whether it is of that very class.
    exact: bool = True


Form: TypeAlias = "Unknown | Something | Nothing | Leaf | Fixed | Held | State"

UNKNOWN = Unknown()
MAYBE_NONE = Unknown(maybe_none=True)
SOMETHING = Something()
DECLARED_ARRAY = Something(declared_array=True)
GRADIENT = Something(gradient=True)
NOTHING = Nothing()


def join(one: Form, other: Form) -> Form:
    """What is one of two."""
    if one == other:
        return one
    if isinstance(one, Nothing) or isinstance(other, Nothing) or MAYBE_NONE in (one, other):
        return MAYBE_NONE
    if isinstance(one, Moved) and isinstance(other, Moved) and one.of == other.of:
        return Moved(of=one.of)
    if isinstance(one, Unknown) or isinstance(other, Unknown):
        return UNKNOWN
    if isinstance(one, Leaf) and isinstance(other, Leaf):
        kind, weak = one.kind if one.kind == other.kind else "", one.weak if one.weak == other.weak else None
        return Leaf(kind, weak, one.sure and other.sure)
    if isinstance(one, State) and isinstance(other, State) and one.cls is other.cls:
        return State(one.cls, _joined(one.fields, other.fields), one.exact and other.exact)
    if isinstance(one, Held) and isinstance(other, Held) and one.kind == other.kind:
        if one.entries.keys() == other.entries.keys():
            return Held(one.kind, _joined(one.entries, other.entries))
    return SOMETHING


def _joined(one: Mapping[str, Form], other: Mapping[str, Form]) -> dict[str, Form]:
    return {name: join(form, other[name]) for name, form in one.items() if name in other}


def promoted(forms: Iterable[Form]) -> Form:
    """What arithmetic makes of some numbers or arrays, or of what has operators of its own."""
    forms = list(forms)
    leaves = [form for form in forms if isinstance(form, Leaf)]
    sure = all(map(is_surely_number, forms))
    if len(leaves) == len(forms) and leaves and all(leaf.kind in _KINDS for leaf in leaves):
        return _widest(leaves, sure)
    if any(leaf.kind in _INEXACT for leaf in leaves) and not any(isinstance(form, State) for form in forms):
        return Leaf("inexact", sure=sure)  # whatever number the other is
    return Leaf(sure=sure) if len(leaves) == len(forms) else SOMETHING


def is_surely_number(form: Form) -> bool:
    """Whether operators take something for what it is: no instance whose class says what they give."""
    return form.sure if isinstance(form, Leaf) else isinstance(form, Fixed) or form == DECLARED_ARRAY


def _widest(leaves: Sequence[Leaf], sure: bool) -> Leaf:
    kind = max((leaf.kind for leaf in leaves), key=_KINDS.index)
    weak = [leaf.weak for leaf in leaves if leaf.kind == kind]
    return Leaf(kind, False if False in weak else None if None in weak else True, sure)


class Difference(msgspec.Struct, frozen=True):
    """Where two trees differ, and what each of them is there."""

    cls: PytreeClass | None
    field: str
    before: Form
    after: Form
    #: The item of the container in the field, as it is written: `["steps"]`.
    item: str = ""


def differences(
    before: Form, after: Form, *, carried: bool, cls: PytreeClass | None = None, field: str = "", item: str = ""
) -> Iterator[Difference]:
    """The places in which two trees certainly have another structure or type.

    What is `carried` through a loop is adapted to what comes out if it is weakly typed.
    """
    match before, after:
        case Unknown(), _:
            return
        case _, Unknown():
            return
        case State(), State():
            if before.cls is after.cls:
                for name in before.fields:
                    known = before.cls.field(name)
                    if known is None or name not in after.fields:
                        continue
                    if known.role is Role.STATIC:
                        yield from _other_value(before, after, name)
                    elif known.role is Role.LEAF:
                        yield from differences(
                            before.fields[name], after.fields[name], carried=carried, cls=before.cls, field=name
                        )
            elif before.exact and after.exact:
                yield Difference(cls or before.cls, field, before, after, item)
        case Held(), Held():
            if before.entries.keys() != after.entries.keys() or before.kind != after.kind:
                yield Difference(cls, field, before, after, item)
                return
            for key, form in before.entries.items():
                part = f'{item}["{key}"]' if before.kind == "dict" else f"{item}[{key}]"
                yield from differences(form, after.entries[key], carried=carried, cls=cls, field=field, item=part)
        case Leaf(), Leaf():
            if _are_other_types(before, after, carried):
                yield Difference(cls, field, before, after, item)
        case Nothing(), Nothing():
            return
        case (State(cls=own), Held()) | (Held(), State(cls=own)):
            yield Difference(cls or own, field, before, after, item)
        case (Leaf(sure=False), State(cls=own)) | (State(cls=own), Leaf(sure=False)) if _has_operators(own):
            return
        case (Nothing(), _) | (_, Nothing()) | (Leaf(), State() | Held()) | (State() | Held(), Leaf()):
            yield Difference(cls, field, before, after, item)


def _has_operators(cls: PytreeClass) -> bool:
    """Whether arithmetic with an instance may give an instance again."""
    if not cls.bases_known or cls.unknown_decorator or cls.attributes_added & _OPERATORS:
        return True
    return any(cls.method(name) is not None or cls.binds(name) for name in _OPERATORS)


def _other_value(before: State, after: State, name: str) -> Iterator[Difference]:
    """The difference of two values in a static field, but for one that counts: JAX202 says that."""
    one, other = before.fields[name], after.fields[name]
    if isinstance(one, Fixed) and isinstance(other, Fixed):
        differ = one.kind == other.kind and one.value != other.value
    else:
        differ = _is_moved(other, one) or _is_moved(one, other)
    if differ:
        yield Difference(before.cls, name, one, other)


def _is_moved(form: Form, held: Form) -> bool:
    return isinstance(form, Moved) and form.of == held and form.step is None


def _are_other_types(before: Leaf, after: Leaf, carried: bool) -> bool:
    if before.kind not in _KINDS or after.kind not in _KINDS or before.kind == after.kind:
        return False
    if before.kind in _INEXACT and after.kind in _INEXACT:
        return False
    if not carried or before.kind == "bool" or before.weak is False:
        return True
    return _KINDS.index(after.kind) < _KINDS.index(before.kind)


def described(form: Form) -> str:
    """What a form is, in words."""
    match form:
        case Nothing():
            return "None"
        case Something(gradient=True):
            return "a gradient"
        case Leaf(kind=kind):
            return _ARTICLES.get(kind, "an array")
        case Fixed(value=value):
            return f"`{value}`"
        case Moved() | Static():
            return "another value"
        case Held(kind="dict"):
            return f"a dict of {', '.join(f'`{key}`' for key in form.entries)}" if form.entries else "an empty dict"
        case Held(kind=kind):
            return f"a {kind} of {len(form.entries)}"
        case State(cls=cls):
            return with_article(cls.name)
    return "an array"
