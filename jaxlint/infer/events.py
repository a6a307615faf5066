"""Events: the things that code does to instances of pytree classes, as rules see them.

Front ends (libcst here, mypy's types in the mypy plugin) produce them; rules consume them and
need not know which front end it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jaxlint.infer.values import ClassObject, Instance, Value
from jaxlint.project import Module
from jaxlint.pytrees.model import PytreeClass

if TYPE_CHECKING:
    from jaxlint.outline import Function


@dataclass(frozen=True)
class Place:
    """Where an event happens: the module, and the functions around it from the outermost to the innermost."""

    module: Module
    functions: tuple[Function, ...] = ()
    #: The class whose method the event is in (the innermost method).
    owner: PytreeClass | None = None
    #: The visible subclasses of a class; empty if none was indexed.
    subclasses: Callable[[PytreeClass], list[PytreeClass]] = field(default=lambda cls: [])

    @property
    def method(self) -> Function | None:
        """The innermost method around the event."""
        for function in reversed(self.functions):
            if function.owner is not None:
                return function
        return None


@dataclass(frozen=True)
class Event:
    """Base of all events; `at` is the libcst node or the span that a finding should point at."""

    at: object
    place: Place


@dataclass(frozen=True)
class AssignAttribute(Event):
    """`receiver.attr = value` in any spelling; `how` is one of the words below.

    "assign", "augment" (`+=`), "unpack" (tuple target), "loop" (`for x.f in`), "with" (`as x.f`), "setattr",
    "delete" (`del x.f`, `delattr`).
    """

    receiver: Instance
    attr: str
    how: str
    value: Value
    #: Whether the receiver is the `self` of the method around the event.
    on_self: bool
    #: Whether the receiver is the `as` target of `copy_and_mutate`.
    mutable_copy: bool
    in_loop: bool
    #: The receiver as text, where it is a dotted name.
    receiver_text: str | None
    #: The other classes that the receiver may be of.
    alternatives: tuple[Instance, ...] = ()


@dataclass(frozen=True)
class KeywordValue:
    """One keyword that an update passes."""

    name: str
    at: object
    value: Value


@dataclass(frozen=True)
class Replace(Event):
    """A copy with changes: `x.replace(...)`, `x._replace(...)`, `dataclasses.replace(x, ...)`, `apply_gradients(...)`.

    `function` is what is called: a method name ("replace", "_replace", "apply_gradients") or a dotted name.
    """

    receiver: Instance
    function: str
    keywords: tuple[KeywordValue, ...]
    in_loop: bool
    #: Whether the result is assigned to the name of what was copied.
    rebinds: bool
    #: Whether the result is an argument of a call of a jitted function.
    into_jit: bool = False


@dataclass(frozen=True)
class Construct(Event):
    """`Cls(...)`: the arguments that could be bound to fields."""

    cls: ClassObject
    arguments: tuple[KeywordValue, ...]
    in_loop: bool
    #: Whether the instance is an argument of a call of a jitted function.
    into_jit: bool = False
