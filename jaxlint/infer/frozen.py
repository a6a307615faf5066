"""Which assignments to attributes are refused, and which of them happen while an instance is made."""

from __future__ import annotations

from jaxlint.infer.events import AssignAttribute
from jaxlint.infer.values import Instance
from jaxlint.pytrees.frameworks import CHEX
from jaxlint.pytrees.model import PytreeClass


def refuses_assignment(event: AssignAttribute) -> bool:
    """Whether the assignment certainly raises, whichever class the receiver is of."""
    return all(_refuses(event, receiver) for receiver in (event.receiver, *event.alternatives))


def _refuses(event: AssignAttribute, receiver: Instance) -> bool:
    cls = receiver.cls
    if not cls.is_pytree or cls.frozen is not True or event.mutable_copy:
        return False
    if cls.frozen_names is not None and event.attr not in cls.frozen_names:
        return False
    if not receiver.exact and any(s.frozen is not True for s in event.place.subclasses(cls)):
        return False
    return not (event.on_self and _runs_only_in(event, cls, cls.framework.assignable_in))


def in_construction(event: AssignAttribute) -> bool:
    """Whether `self` is assigned to by code that runs only while an instance is made."""
    cls = event.receiver.cls
    return event.on_self and _runs_only_in(event, cls, cls.framework.constructing)


def assignment_error(event: AssignAttribute) -> str:
    """The name of the error that a refused assignment raises."""
    cls = event.receiver.cls
    if cls.framework is CHEX and event.attr and cls.field(event.attr) is None:
        # chex makes the class anew, and the `__setattr__` of the first one calls `super(First, self)` for other names
        return "TypeError" if cls.option("mappable_dataclass", True) is True else cls.framework.frozen_error
    return cls.framework.frozen_error


def _runs_only_in(event: AssignAttribute, cls: PytreeClass, methods: frozenset[str]) -> bool:
    """Whether the method around the event is one of `methods`, or called only by those."""
    method = event.place.method
    if not methods or method is None:
        return False
    return is_called_only_by(method.name, (*cls.mro, *event.place.subclasses(cls)), methods)


def is_called_only_by(
    name: str, family: tuple[PytreeClass, ...], methods: frozenset[str], seen: frozenset[str] = frozenset()
) -> bool:
    """Whether a method is one of `methods`, or called by methods of the family that all are."""
    if name in methods or name in seen:
        return True
    callers = {
        caller
        for cls in family
        for caller, qualnames in cls.symbol.declaration.methods.items()
        if any(name in cls.module.outline.functions[q].self_calls for q in qualnames)
    } - {name}
    return bool(callers) and all(is_called_only_by(c, family, methods, seen | {name}) for c in callers)
