"""What goes wrong when a class is registered: twice, or with lists that do not fit its fields."""

from __future__ import annotations

import msgspec

from jaxlint.pytrees.framework import Framework
from jaxlint.pytrees.frameworks.jax_register import MISSING_FUNCTION, READS_FIELDS
from jaxlint.pytrees.model import PytreeClass, Registration
from jaxlint.pytrees.target import Target
from jaxlint.pytrees.versions import Fact


class Clash(msgspec.Struct, frozen=True):
    """A class is registered by `second` although it is registered already, by `first` or by its base class.

    The exception that this raises is "" where it cannot be determined which of two it is.
    """

    first: Registration | None
    second: Registration
    exception: str
    text: str


def registration_clash(cls: PytreeClass, target: Target) -> Clash | None:
    """The first registration that is refused because the class is a pytree already; guarded ones do not count."""
    if cls.registered_by_base is None:
        return None
    before = cls.framework if cls.registered_by_base else None
    first: Registration | None = None
    for registration in cls.registrations:
        if registration.ignored or registration.guarded or fails_by_form(registration):
            continue
        if lists_nothing(registration) and target.holds(READS_FIELDS) is False:
            return None  # this is refused for that already
        if before is not None:
            refused = _refusal(before, first, registration, target)
            if refused is not None:
                return Clash(first, registration, *refused)
        before, first = registration.framework, registration
    return None


def fails_by_form(registration: Registration) -> bool:
    """Whether the function is called as it cannot be called, or does not exist."""
    return registration.is_factory or registration.function == MISSING_FUNCTION


def lists_nothing(registration: Registration) -> bool:
    """Whether the fields of the class itself are to be read, which an older `register_dataclass` does not do."""
    return registration.framework.lists_fields and registration.arguments_known and not registration.has_lists


def _refusal(
    before: Framework, first: Registration | None, second: Registration, target: Target
) -> tuple[str, str] | None:
    """The exception that registering once more raises, and a part of its text; None if it is accepted."""
    framework = second.framework
    if framework.registers_anyway:
        return _late_refusal(before, first, second, target)
    if framework is before and framework.refuses_repeats:
        return "ValueError", framework.refuses_repeats
    if framework.makes_dataclass:
        frozen = _makes_frozen(framework, second)
        already = _makes_frozen(before, first)
        if frozen is None or already is None:
            return "", ""
        if before.freezes_itself is not None:
            refused = refusal_by_itself(frozen, before.freezes_itself, target)
            if refused is not None:
                return refused
        if frozen and already:
            return "TypeError", "Cannot overwrite attribute __setattr__ in class"
    if framework.lists_fields and not second.of_dataclass and not second.has_lists:
        return "TypeError", "are required when nodetype is not a dataclass"
    return "ValueError", "Duplicate custom"


def refusal_by_itself(frozen: bool, freezes_itself: Fact, target: Target) -> tuple[str, str] | None:
    """What the dataclass machinery raises for a class that its framework freezes, "" if unknown; None if nothing."""
    is_plain = target.holds(freezes_itself)
    if frozen:
        text = (
            "cannot inherit frozen dataclass from a non-frozen"
            if is_plain
            else "Cannot overwrite attribute __setattr__"
        )
        return "TypeError", "" if is_plain is None else text
    if is_plain is None:
        return "", ""
    return None if is_plain else ("TypeError", "cannot inherit non-frozen dataclass from a frozen one")


def _late_refusal(
    before: Framework, first: Registration | None, second: Registration, target: Target
) -> tuple[str, str] | None:
    """It registers without asking; a class that it makes a mapping is a new one, with one more base class."""
    framework = second.framework
    frozen = _makes_frozen(framework, second)
    is_made_anew = second.option(framework.mapping_option, True)
    if before.freezes_each and not frozen and is_made_anew is None:
        return "", ""
    if (before.freezes_each and is_made_anew) or (frozen and _makes_frozen(before, first)):
        return "TypeError", "Cannot overwrite attribute __setattr__ in class"
    if frozen and before.freezes_itself is not None:
        return refusal_by_itself(frozen, before.freezes_itself, target)
    mappable = [r.option(framework.mapping_option, True) for r in (first, second) if r is not None]
    if before is framework and mappable == [True, True]:
        return "TypeError", "duplicate base class Mapping"
    return None


def _makes_frozen(framework: Framework, registration: Registration | None) -> bool | None:
    """Whether a registration leaves a frozen dataclass; None if that is for a `@dataclass` below it to say."""
    if not framework.makes_dataclass and framework.frozen is None:
        return None
    if not framework.makes_dataclass or framework.freezes_itself is not None:
        return False
    if registration is None or not framework.frozen_option:
        return framework.frozen
    return registration.option("frozen", framework.frozen)


class ListProblems(msgspec.Struct, frozen=True):
    """How the lists of a `register_dataclass` fail to fit the class."""

    #: The list that is not given though the other one is.
    absent_list: str = ""
    #: Fields that are in no list.
    missing: tuple[str, ...] = ()
    #: Names in `data_fields` or `meta_fields` that are no fields.
    unexpected: tuple[str, ...] = ()
    #: Names in both of them.
    overlapping: tuple[str, ...] = ()
    #: Fields that are listed in `drop_fields`, and in one of the others.
    dropped_too: tuple[str, ...] = ()
    #: Names that `data_fields` holds twice.
    repeated: tuple[str, ...] = ()
    #: Dropped fields that the constructor cannot do without.
    dropped_required: tuple[str, ...] = ()

    @property
    def are_refused(self) -> bool:
        """Whether the class cannot be registered, in any version."""
        return bool(self.absent_list or self.missing or self.unexpected)


def list_problems(cls: PytreeClass) -> ListProblems | None:
    """How the lists of fields do not fit the class; None if there are none, or if that cannot be determined."""
    lists = cls.lists
    registration = next((r for r in cls.registrations if r.framework.lists_fields), None)
    if lists is None or lists.automatic or registration is None or fails_by_form(registration):
        return None
    if lists.data_given is None or lists.meta_given is None:
        return ListProblems(absent_list="meta_fields" if lists.meta_given is None else "data_fields")
    if lists.data is None or lists.meta is None or lists.dropped is None:
        return None
    given = dict.fromkeys((*lists.data, *lists.meta))
    overlapping = tuple(n for n in dict.fromkeys(lists.data) if n in lists.meta)
    repeated = tuple(n for n in dict.fromkeys(lists.data) if lists.data.count(n) > 1)
    if not registration.of_dataclass:
        return ListProblems(overlapping=overlapping, repeated=repeated)
    if not cls.fields_known:
        return None
    names = {f.name for f in cls.fields if f.init}
    wanted = names.difference(lists.dropped)
    return ListProblems(
        missing=tuple(f.name for f in cls.fields if f.name in wanted and f.name not in given),
        unexpected=tuple(n for n in given if n not in names),
        overlapping=overlapping,
        dropped_too=tuple(n for n in given if n in names and n not in wanted),
        repeated=repeated,
        dropped_required=_required(cls, frozenset(lists.dropped)),
    )


def _required(cls: PytreeClass, dropped: frozenset[str]) -> tuple[str, ...]:
    """The dropped fields that the constructor has a parameter for, without a default."""
    parameters = cls.constructor() or ()
    return tuple(p.name for p in parameters if p.name in dropped and p.default is None and not p.kind.startswith("*"))
