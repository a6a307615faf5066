"""What comes of a class over which the dataclass machinery runs twice: by `@dataclass`, and by a framework."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import msgspec

from jaxlint.pytrees.framework import Subclasses
from jaxlint.pytrees.frameworks import DATACLASS
from jaxlint.pytrees.model import Kind, PytreeClass, Registration
from jaxlint.pytrees.registration import fails_by_form, refusal_by_itself
from jaxlint.pytrees.target import Target

#: The decorator of the standard library, which registers nothing.
_STANDARD = "dataclasses.dataclass"


class Outcome(Enum):
    """What a second run of the machinery does."""

    NO_CLASS = "the class cannot be created"
    NO_INSTANCE = "no instance can be made"
    UNREGISTERED = "the class that is returned is another one, which is no pytree"
    LEAFLESS = "the fields are slots, which the framework does not flatten"
    OTHER_EQUALITY = "`==` and `hash` of the framework are replaced"
    NOTHING = "nothing changes"


class Remake(msgspec.Struct, frozen=True):
    """`@dataclass` at a class that a framework makes a dataclass, or registers; `exception` and `text` if it fails."""

    standard: Registration
    #: The decorator of the framework; None if its base class does it.
    other: Registration | None
    outcome: Outcome
    exception: str = ""
    text: str = ""


def remakes(cls: PytreeClass, target: Target) -> Iterator[Remake]:
    """The `@dataclass` decorators of a class that do harm, or nothing, because a framework does the same."""
    runs = [r for r in cls.made_by if not r.ignored and not r.guarded]
    for standard in (r for r in runs if r.function == _STANDARD):
        found = _with_base(cls, standard, target) or _with_register(cls, standard) or _with_methods(cls, standard)
        if found is None:
            other = next((r for r in runs if r.framework is not DATACLASS), None)
            found = None if other is None else _with_decorator(cls, standard, other, runs)
        if found is not None:
            yield found


def _with_base(cls: PytreeClass, standard: Registration, target: Target) -> Remake | None:
    """`@dataclass` at a subclass of `PyTreeNode` or `equinox.Module`, whose base class has run the machinery."""
    framework = cls.framework
    if framework.subclasses is not Subclasses.AUTO or not framework.makes_dataclass or not cls.registered_by_base:
        return None
    frozen, slots = standard.option("frozen", False), standard.option("slots", False)
    if frozen is None or slots is None:
        return None
    if framework.freezes_itself is not None:
        refused = refusal_by_itself(frozen, framework.freezes_itself, target)
        if refused is not None:
            exception, text = refused
            return Remake(standard, None, Outcome.NO_CLASS, exception, text) if exception else None
        if slots:
            return Remake(standard, None, Outcome.LEAFLESS)
        return Remake(
            standard, None, Outcome.OTHER_EQUALITY if standard.option("eq", True) is not False else Outcome.NOTHING
        )
    if not frozen and any(c.params is not None and c.params.frozen for c in cls.mro[1:]):
        return _refused(standard, None, "cannot inherit non-frozen dataclass from a frozen one")
    if frozen:
        return _refused(standard, None, "Cannot overwrite attribute __setattr__ in class")
    return None if slots else Remake(standard, None, Outcome.NOTHING)


def _with_register(cls: PytreeClass, standard: Registration) -> Remake | None:
    """`@dataclass` above `@register_dataclass`."""
    other = next((r for r in cls.registrations if r.framework.lists_fields), None)
    if other is None or other.is_call or other.guarded or fails_by_form(other) or not _is_above(standard, other):
        return None
    if not other.of_dataclass and not other.has_lists:
        text = "data_fields and meta_fields are required when nodetype is not a dataclass"
        return _refused(standard, other, text)
    return Remake(standard, other, Outcome.UNREGISTERED) if standard.option("slots", False) else None


def _with_methods(cls: PytreeClass, standard: Registration) -> Remake | None:
    """`@dataclass(slots=True)` above a decorator that registers the class with its own `tree_flatten`."""
    other = cls.registrations[0] if len(cls.registrations) == 1 else None
    if other is None or not other.framework.flattens_itself or other.is_call or other.guarded:
        return None
    remade = standard.option("slots", False) is True and _is_above(standard, other)
    return Remake(standard, other, Outcome.UNREGISTERED) if remade else None


def _with_decorator(
    cls: PytreeClass, standard: Registration, other: Registration, runs: list[Registration]
) -> Remake | None:
    """`@dataclass` together with the decorator of a framework that runs the machinery itself."""
    frozen = standard.option("frozen", False)
    framework = other.framework
    froze = other.option("frozen", framework.frozen) if framework.frozen_option else framework.frozen
    if frozen is None or froze is None or len(runs) != 2:
        return None
    if frozen and froze:
        return _refused(standard, other, "Cannot overwrite attribute __setattr__ in class")
    above = runs.index(standard) > runs.index(other)
    if standard.option("slots", False) is True:
        if above:
            return Remake(standard, other, Outcome.UNREGISTERED)
        text = "in __slots__ conflicts with class variable"
        return _refused(standard, other, text) if framework.refuses_slots_below else None
    # what the first run has made of `__init__` assigns, and the second one makes that impossible
    assigns = frozen if above else froze
    parameters = cls.generated_init and any(f.init and f.kind is Kind.FIELD for f in cls.members)
    if assigns and parameters and "__init__" not in framework.assignable_in:
        return Remake(standard, other, Outcome.NO_INSTANCE, "FrozenInstanceError", "")
    return None if frozen else Remake(standard, other, Outcome.NOTHING)


def _is_above(first: Registration, second: Registration) -> bool:
    return first.at.row < second.at.row


def _refused(standard: Registration, other: Registration | None, text: str) -> Remake:
    exception = "ValueError" if "__slots__" in text else "TypeError"
    return Remake(standard, other, Outcome.NO_CLASS, exception, text)
