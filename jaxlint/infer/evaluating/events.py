"""Events: the things that code does to instances of pytree classes, as rules see them.

Front ends (the code itself here, mypy's types in the mypy plugin) produce them; rules consume them and
need not know which front end it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from jaxlint.infer.bodies.contents import Contents, contents_of
from jaxlint.infer.known.deferred import Held, known
from jaxlint.infer.known.values import ClassObject, Instance, Value, is_declared
from jaxlint.infer.transforms.applied import Applied
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.families import Family
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.expressions import Call, Expr
from jaxlint.syntax.statements import Body, Statement

if TYPE_CHECKING:
    from jaxlint.symbols.outline import Function


def _none_visible(cls: PytreeClass) -> Family:
    return Family()


def _nothing_applied(function: Function) -> tuple[Applied, ...]:
    return ()


class Place(msgspec.Struct, frozen=True):
    """Where an event happens: the module, and the functions around it from the outermost to the innermost."""

    module: Module
    functions: tuple[Function, ...] = ()
    #: The class whose method the event is in (the innermost method).
    owner: PytreeClass | None = None
    #: The visible subclasses of a class; empty if none was indexed.
    subclasses: Callable[[PytreeClass], Family] = _none_visible
    #: What is applied to a function of the module (once all of the module is read).
    applied: Callable[[Function], tuple[Applied, ...]] = _nothing_applied
    #: Whether it happens on one of the ways that lead to a line; on others something else may be meant.
    is_one_way: bool = False

    @property
    def function(self) -> Function | None:
        """The innermost function around the event."""
        return self.functions[-1] if self.functions else None

    @property
    def scope(self) -> str:
        """The scope in which the names of the code around the event are looked up."""
        return self.functions[-1].inner_scope if self.functions else ""

    def family(self, one: Instance | ClassObject) -> Family:
        """The classes that may be meant: that which is known and, unless it is exact, the visible ones below it."""
        return Family((one.cls,)) if one.exact else self.subclasses(one.cls).below(one.cls)

    @property
    def method(self) -> Function | None:
        """The innermost method around the event."""
        for function in reversed(self.functions):
            if function.owner is not None:
                return function
        return None


class Event(msgspec.Struct, frozen=True):
    """Base of all events; `at` is the node or the span that a finding should point at."""

    at: object
    place: Place


class AssignAttribute(Event, frozen=True):
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
    #: Whether the receiver may be the `as` target of `copy_and_mutate`, a part of that, or what another context manager
    #: got hold of.
    mutable_copy: bool
    in_loop: bool
    #: The receiver as text, where it is a dotted name.
    receiver_text: str | None
    #: The other classes that the receiver may be of.
    alternatives: tuple[Instance, ...] = ()
    #: The instances that hold the receiver, where it is a dotted name: in `a.b.c.x = 1` those that `a.b` and `a` are.
    holders: tuple[Instance | None, ...] = ()
    #: The expression that names the attribute, where `attr` is empty: `name` of `setattr(x, name, v)`.
    named_by: Expr | None = None

    @property
    def may_take_effect(self) -> bool:
        """Whether the receiver may be assigned to: it is not frozen, or a copy that is not."""
        return self.receiver.cls.frozen is False or self.mutable_copy


class MutateField(Event, frozen=True):
    """What the field `field` of an instance holds is changed in place.

    `how` is "item" (`x.f[k] = v`), "delete" (`del x.f[k]`), "augment" (`x.f[k] += v`), "attribute" (`x.f.g = v`),
    or the name of the method that does it (`x.f.append(v)`).
    """

    receiver: Instance
    field: str
    how: str
    #: What the field holds.
    held: Value
    #: What is put into it, if it is one thing.
    value: Value
    #: The receiver as text, where it is a dotted name and not reached through another variable.
    receiver_text: str | None
    #: Whether the receiver is the `as` target of `copy_and_mutate`, or what another context manager got hold of.
    mutable_copy: bool


class AssignItem(Event, frozen=True):
    """`receiver[k] = v` ("item"), `receiver[k] += v` ("augment") or `del receiver[k]` ("delete"), as `how` says."""

    receiver: Value
    how: str
    #: What has the item, and the item.
    target: Expr
    index: Expr
    #: The instance whose field the receiver is, if it is one.
    owner: Instance | None
    #: Whether it is reached through an instance that the function has made itself, perhaps not as annotated.
    made_here: bool = False
    #: Whether it stands in the `as` target of `copy_and_mutate`, which may be assigned to.
    mutable_copy: bool = False
    #: The instances that hold the owner, as in `AssignAttribute`.
    holders: tuple[Instance | None, ...] = ()


class KeywordValue(msgspec.Struct, frozen=True):
    """One keyword that an update passes."""

    name: str
    at: object
    held: Held

    @property
    def value(self) -> Value:
        """What is passed."""
        return known(self.held)


class Update(Event, frozen=True):
    """A copy with changes is made; the original stays as it is.

    `function` is what is called: a method name ("replace", "_replace", "apply_gradients", "at.set"), or a
    dotted name ("dataclasses.replace", "equinox.tree_at").
    """

    #: The call, and what is copied.
    call: Call
    base: Expr | None
    receiver: Value
    function: str
    keywords: tuple[KeywordValue, ...]


class Replace(Update, frozen=True):
    """A copy of an instance of a known class: `x.replace(...)`, `x._replace(...)`, `dataclasses.replace(x, ...)`."""

    receiver: Instance
    in_loop: bool
    #: Whether the result is assigned to the name of what was copied.
    rebinds: bool
    #: Whether the result is an argument of a call of a jitted function.
    into_jit: bool = False
    #: Whether the result goes into a variable that nothing else gets hold of; said of updates of static fields.
    stays: bool = False
    #: The same, but for the caller of the function, who is given it.
    stays_until_returned: bool = False
    #: Whether a function of the user's returns the copy in a tuple, beside something else.
    beside: bool = False
    #: The function of the user's that makes the copy, if it certainly is that one.
    by: FunctionSymbol | None = None
    #: Whether a comprehension makes it, for each of the items that it goes through.
    in_comprehension: bool = False

    @property
    def sets_static(self) -> bool:
        """Whether a static field is among those that are updated."""
        fields = [self.receiver.cls.field(keyword.name) for keyword in self.keywords]
        return any(field is not None and field.role is Role.STATIC for field in fields)


class Beside(Event, frozen=True):
    """A call returns a copy with changes beside something else."""

    update: Replace


class Discard(Event, frozen=True):
    """The result of an update is thrown away."""

    update: Update
    #: Whether the call is a whole statement, not a part of one.
    is_alone: bool = False
    #: What holds that which is copied, what holds that, … (`x.y`, `x` for `x.y.z`); None where it is no instance.
    holders: tuple[Instance | None, ...] = ()


class Construct(Event, frozen=True):
    """`Cls(...)`: the arguments that could be bound to fields."""

    cls: ClassObject
    #: The call: of the class, or of `TrainState.create`.
    call: Call
    arguments: tuple[KeywordValue, ...]
    in_loop: bool
    #: Whether the instance is an argument of a call of a jitted function.
    into_jit: bool = False
    #: Whether `TrainState.create` makes it.
    by_create: bool = False
    #: Whether a comprehension makes it, for each of the items that it goes through.
    in_comprehension: bool = False


class CallMethod(Event, frozen=True):
    """`receiver.name(...)`, the receiver being an instance of a known class or such a class itself."""

    receiver: Instance | ClassObject
    name: str
    call: Call
    #: The receiver as text, where it is a dotted name.
    receiver_text: str | None


class Transformed(Event, frozen=True):
    """A function is given to a transformation, by a decorator or a call; `function` is None if it is not seen."""

    applied: Applied
    function: Function | None
    #: The module that declares the function.
    module: Module | None
    #: The receiver of a bound method, or an instance that is given itself.
    receiver: Value | None
    #: Whether the method or instance itself is given, and not what `partial` or another transformation makes of it.
    is_given_itself: bool = False


class Cross(Event, frozen=True):
    """A value goes into a transformed function as the argument for `parameter`."""

    value: Value
    function: Function | None
    parameter: str | None
    applied: tuple[Applied, ...]
    #: Whether one of the transformations holds the parameter static; None if that cannot be determined.
    static: bool | None
    #: What an instance is given that is made in the call and held static.
    made: Mapping[str, Value] | None = None
    #: The module that declares the function.
    module: Module | None = None
    #: Whether its buffers are given away; then values of which nothing is known are events, too.
    donated: bool = False


class CodeRead(Event, frozen=True, dict=True):
    """The body of a function (or, where `function` is None, the top-level statements of the module) was read."""

    body: Body
    function: Function | None
    #: What its parameters are.
    parameters: Mapping[str, Value]
    #: What happened in it, in source order; what happens in the functions inside is not among it.
    events: tuple[Event, ...]
    #: What is known at its statements, by their identity: `value_at` reads it.
    points: Mapping[int, object] = msgspec.field(default_factory=dict)
    #: What was found out about the body, by what finds it out: several rules ask for the same.
    shared: dict[object, Any] = msgspec.field(default_factory=dict)

    @property
    def scope(self) -> str:
        """The scope in which the names of the body are looked up."""
        return "" if self.function is None else self.function.inner_scope

    @cached_property
    def contents(self) -> Contents:
        """What the body holds, by its kinds."""
        return contents_of(self.body)

    @cached_property
    def statements(self) -> Sequence[Statement]:
        """All statements of the body, in source order; those of functions and classes inside are not among them."""
        return self.contents.statements

    @property
    def parts(self) -> Sequence[Expr]:
        """All expressions of these statements."""
        return self.contents.parts

    @cached_property
    def calls(self) -> Sequence[Call]:
        """The calls among these expressions."""
        return self.contents.of(Call)

    @cached_property
    def applied(self) -> tuple[Applied, ...]:
        """The transformations that are applied to the function itself, once all of the module was read."""
        return () if self.function is None else self.place.applied(self.function)

    def forget(self) -> None:
        """Let go of what was found out about the body: nobody asks for it any more."""
        self.shared.clear()
        vars(self).clear()


def rests_on_annotation(event: Event) -> bool:
    """Whether only an annotation says to what an event happens, so that nothing that follows from it is certain."""
    match event:
        case Discard(update=update):
            return is_declared(update.receiver)
        case AssignAttribute() | MutateField() | AssignItem() | Update() | CallMethod():
            return is_declared(event.receiver)
    return False


#: The events in which fields get values.
FieldEvent: TypeAlias = Construct | Replace | AssignAttribute
FIELD_EVENTS = (Construct, Replace, AssignAttribute)
