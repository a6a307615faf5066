"""What is noted while code is read: the events, and the circumstances that decide what an event is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from jaxlint.infer.bodies.usage import goes_anywhere
from jaxlint.infer.evaluating.closures import FunctionReader, Point
from jaxlint.infer.evaluating.events import (
    AssignAttribute,
    AssignItem,
    Beside,
    CallMethod,
    CodeRead,
    Construct,
    Cross,
    Discard,
    Event,
    KeywordValue,
    MutateField,
    Place,
    Replace,
    Transformed,
    Update,
)
from jaxlint.infer.known.deferred import Held, Values, known
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.values import (
    ClassObject,
    FieldRead,
    Instance,
    Possibly,
    UnknownValue,
    Value,
    as_instance,
    known_entries,
    options,
    plain,
    without_none,
)
from jaxlint.libraries.updates import RESTORING, UPDATE_FUNCTIONS
from jaxlint.syntax.expressions import Argument, Attribute, Call, Expr, Name, Subscript, dotted
from jaxlint.syntax.statements import Assign, walk

if TYPE_CHECKING:
    from jaxlint.project.resolution import FunctionSymbol
    from jaxlint.pytrees.model import PytreeClass
    from jaxlint.symbols.outline import Function
    from jaxlint.syntax.statements import Body, Statement

#: By what names the errors are caught that an event may raise.
ANY_ERROR = frozenset({"Exception", "BaseException"})
#: Stands for whatever error a `try` statement that does nothing else waits for.
TRIED = "try"
_RAISED: dict[type[Event], frozenset[str]] = {
    AssignAttribute: ANY_ERROR | {"FrozenInstanceError", "AttributeError"},
    AssignItem: ANY_ERROR | {"TypeError", "AttributeError"},
    MutateField: ANY_ERROR,
    Update: ANY_ERROR | {"TypeError", "ValueError"},
    Replace: ANY_ERROR | {"TypeError", "ValueError"},
    Beside: frozenset({TRIED}),
    Discard: frozenset({TRIED}),
    Construct: ANY_ERROR | {"TypeError", "ValueError"},
    CallMethod: ANY_ERROR | {"AttributeError", "TypeError"},
    Transformed: ANY_ERROR | {"TypeError", "ValueError"},
    Cross: ANY_ERROR | {"TypeError", "ValueError"},
    CodeRead: frozenset(),
}


class Notes:
    """The events of the code being read, in source order."""

    def __init__(self) -> None:
        #: None while code is read only for its value.
        self.events: list[Event] | None = None
        self.place: Place | None = None
        self.loop_depth = 0
        #: How many of these loops are comprehensions.
        self.comprehensions = 0
        #: Whether what is evaluated is an argument of a call of a jitted function.
        self.into_jit = False
        #: The errors that the code around expects.
        self.expected: frozenset[str] = frozenset()
        #: The last update that is no event, but may be thrown away: of an array, where a `try` statement would swallow
        #: its error.
        self.unnoted: Update | None = None
        #: The last call that made or updated an instance of a pytree class, and what it gave to the parameters.
        self.made: tuple[Call, PytreeClass, Sequence[KeywordValue]] | None = None
        #: Whether `jax.disable_jit()` holds for what is read.
        self.runs_untransformed = False
        #: Whether what calls pass is kept.
        self.tells_calls = True
        #: The targets of the assignment whose value is being evaluated.
        self.targets: frozenset[str | None] = frozenset()
        #: The reader of the statements around the expression; None outside of units.
        self.reader: FunctionReader | None = None
        #: What is known at the statements of the unit being read, by their identity.
        self.points: dict[int, Point] = {}
        #: What is changed that is an instance on one of the ways to a line, by the identity of expressions.
        self.possible: dict[int, Instance] = {}

    def add(self, event: Event) -> None:
        """Keep an event, unless the code is being read only for its value, or the error it may raise is expected."""
        if self.events is not None and not self.expected & _RAISED[type(event)]:
            self.events.append(event)
        elif self.events is not None and isinstance(event, Update) and event.function.startswith("at."):
            self.unnoted = event  # which raises nothing that a `try` statement may wait for

    def point(self, statement: Statement, env: Environment) -> None:
        """Note what is known before a statement runs."""
        if self.events is not None:
            self.points[id(statement)] = Point(env.copy(), self.place, self.reader)

    @contextmanager
    def muted(self) -> Iterator[None]:
        """Read code only for its value."""
        events, self.events = self.events, None
        try:
            yield
        finally:
            self.events = events

    @contextmanager
    def first_turn(self) -> Iterator[None]:
        """Read the body of a loop to learn what its second turn begins with: what it passes then is what counts."""
        before, self.tells_calls = self.tells_calls, False
        try:
            yield
        finally:
            self.tells_calls = before

    def elsewhere(
        self, place: Place | None, reader: FunctionReader | None, *, tells_calls: bool | None = None
    ) -> _Elsewhere:
        """Read code for its value that stands in another place."""
        return _Elsewhere(self, place, reader, self.tells_calls if tells_calls is None else tells_calls)

    @property
    def active(self) -> Place | None:
        """The place of the code being read, or None if nothing is noted."""
        return self.place if self.events is not None else None

    def code(
        self,
        body: Body,
        function: Function | None,
        parameters: dict[str, Value],
        since: int,
        shared: Collection[str] = (),
    ) -> None:
        """Note that the body of a function, or some top-level statements, were read: what happened since.

        Functions elsewhere assign the variables that are `shared`.
        """
        place, events = self.active, self.events
        if place is not None and events is not None:
            for number, event in enumerate(events[since:], since):
                if isinstance(event, Replace) and event.place.function is place.function:
                    if event.rebinds and event.sets_static and _stays(event, body, shared, returned=True):
                        stays = _stays(event, body, shared, returned=False)
                        events[number] = replace(event, stays=stays, stays_until_returned=True)
            inside = tuple(e for e in events[since:] if e.place.function is place.function)
            if function is not None and function is not place.function:
                place = replace(place, functions=(*place.functions, function))  # a lambda
            at = body[0].at if body else None
            events.append(CodeRead(at, place, body, function, parameters, inside, self.points))

    # -- assignments ------------------------------------------------------------------------

    def assign_attribute(
        self,
        at: object,
        receiver_expr: Expr,
        receiver: Value,
        attr: str,
        how: str,
        value: Held,
        env: Environment,
        holders: Iterable[Value] = (),
        named_by: Expr | None = None,
    ) -> None:
        """The assignment of an attribute, if the receiver is an instance of a known class, which `holders` hold."""
        place = self.active
        candidates = [as_instance(o) for o in options(plain(without_none(plain(receiver))))]
        instances = [i for i in candidates if i is not None]
        if place is None or not instances or len(instances) < len(candidates):
            if place is not None and isinstance(receiver, Possibly):
                self.possible[id(receiver_expr)] = receiver.value
            return
        text = dotted(receiver_expr)
        method = place.method
        self.add(
            AssignAttribute(
                at=at,
                place=place,
                receiver=instances[0],
                alternatives=tuple(instances[1:]),
                attr=attr,
                how=how,
                value=known(value),
                on_self=method is not None and text is not None and text == method.self_name,
                mutable_copy=env.may_be_mutable(receiver_expr),
                in_loop=self.loop_depth > 0,
                receiver_text=text,
                holders=tuple(map(as_instance, map(plain, holders))),
                named_by=None if attr else named_by,
            )
        )

    def mutate(
        self, at: object, held_expr: Expr, held: Value, how: str, value: Held, owner: Instance | None, env: Environment
    ) -> None:
        """A change in place of what `held_expr` is, if that is what a field of a known instance holds.

        `owner` is the instance whose attribute the expression is, if it is one.
        """
        place = self.active
        if place is None:
            return
        text = None
        if isinstance(held_expr, Attribute) and owner is not None:
            receiver, field = owner, held_expr.attr
            text = dotted(held_expr.value)
        elif isinstance(held, FieldRead):
            receiver, field = Instance(held.cls), held.field
        else:
            return
        if not receiver.cls.is_pytree or receiver.cls.field(field) is None:
            return
        copied = text is not None and text.partition(".")[0] in env.mutable_copies
        self.add(MutateField(at, place, receiver, field, how, plain(held), plain(known(value)), text, copied))

    def assign_item(
        self,
        target: Subscript,
        held: Expr,
        receiver: Value,
        how: str,
        owner: Instance | None,
        made_here: bool,
        *,
        mutable_copy: bool = False,
        holders: tuple[Instance | None, ...] = (),
    ) -> None:
        """The assignment of an item of `held`, or of an item of an item of it; `holders` hold its `owner`."""
        place = self.active
        if place is not None and not isinstance(receiver, UnknownValue):
            index = target.index
            self.add(AssignItem(target.at, place, receiver, how, held, index, owner, made_here, mutable_copy, holders))

    # -- updates and calls ------------------------------------------------------------------

    def update(
        self,
        call: Call,
        base: Expr | None,
        receiver: Value,
        function: str,
        args: Sequence[Argument],
        values: Values,
        *,
        beside: bool = False,
        by: FunctionSymbol | None = None,
    ) -> None:
        """A copy with changes, perhaps `beside` something else; `args` are those of the call that may name fields."""
        place = self.active
        if place is None:
            return
        keywords = tuple(keyword_values(args, values))
        instance = as_instance(receiver)
        if instance is not None and keywords:
            self.made = call, instance.cls, keywords
        if instance is None or function in UPDATE_FUNCTIONS or function in RESTORING:
            self.add(Update(call.at, place, call, base, receiver, function, keywords))
            return
        rebinds = base is not None and dotted(base) in self.targets
        in_loop = self.loop_depth > 0
        made = Replace(
            call.at,
            place,
            call,
            base,
            instance,
            function,
            keywords,
            in_loop,
            rebinds,
            self.into_jit,
            by=by,
            in_comprehension=self.comprehensions > 0,
        )
        if beside:
            self.add(Beside(call.at, place, replace(made, beside=True)))  # what the call returns is no copy
            return
        self.add(made)
        if rebinds and base is not None:
            self._rebind_parts(base, args)

    def _rebind_parts(self, base: Expr, args: Sequence[Argument]) -> None:
        """See that updates of parts of `base`, which are put back into it, count as rebinding: `x.y.replace(...)`."""
        events = self.events or []
        for arg in args:
            if not isinstance(arg.value, Call):
                continue
            for number, event in enumerate(events):
                if isinstance(event, Replace) and event.call is arg.value and event.base is not None:
                    if dotted(event.base) == f"{dotted(base)}.{arg.keyword}":
                        events[number] = replace(event, rebinds=True)
                        self._rebind_parts(event.base, event.call.args)

    def discard(
        self,
        call: Call,
        since: int,
        *,
        is_alone: bool = False,
        holders: Callable[[Expr], Iterable[Value]] = lambda _: (),
    ) -> None:
        """A call whose result nobody takes: if it was an update, that is lost; `holders` hold what an attribute is."""
        for event in (*self.events[since:], self.unnoted) if self.events is not None else ():
            update = event.update if isinstance(event, Beside) else event
            if isinstance(update, Update) and update.at is call.at:
                self.unnoted = None
                with self.muted():
                    held_by = holders(update.base) if isinstance(update.base, Attribute) else ()
                    above = tuple(map(as_instance, map(plain, held_by)))
                self.add(Discard(update.at, update.place, update, is_alone, above))
                return

    def construct(
        self, call: Call, cls: ClassObject, arguments: Sequence[KeywordValue], *, by_create: bool = False
    ) -> None:
        """The construction of an instance."""
        if self.active is not None:
            given, in_loop, each = tuple(arguments), self.loop_depth > 0, self.comprehensions > 0
            made = Construct(
                call.at, self.active, cls, call, given, in_loop, self.into_jit, by_create, in_comprehension=each
            )
            self.add(made)

    def call_method(self, call: Call, receiver: Value) -> None:
        """The call of a method of a known class or its instance."""
        place, func = self.active, call.func
        if place is None or not isinstance(func, Attribute):
            return
        held = plain(without_none(plain(receiver)))
        if isinstance(held, (Instance, ClassObject)) and held.cls.is_pytree:
            self.add(CallMethod(call.at, place, held, func.attr, call, dotted(func.value)))
        elif isinstance(held, Possibly):
            self.possible[id(func.value)] = held.value


class _Elsewhere:
    """Sets the place of code that is read for its value; a class, because a generator takes several times as long."""

    def __init__(self, notes: Notes, place: Place | None, reader: FunctionReader | None, tells_calls: bool) -> None:
        self._notes = notes
        self._place = place
        self._reader = reader
        self._tells_calls = tells_calls

    def __enter__(self) -> None:
        notes = self._notes
        self._saved = (notes.events, notes.place, notes.reader, notes.tells_calls)
        notes.events, notes.place, notes.reader = None, self._place, self._reader
        notes.tells_calls = self._tells_calls

    def __exit__(self, *error: object) -> None:
        notes = self._notes
        notes.events, notes.place, notes.reader, notes.tells_calls = self._saved


def _stays(event: Replace, body: Body, shared: Collection[str], *, returned: bool) -> bool:
    """Whether the copy goes into a variable that nothing else gets hold of, unless it is `returned`."""
    if not isinstance(event.base, Name) or event.base.id in shared:
        return False
    is_assigned = any(isinstance(s, Assign) and s.value is event.call for s in walk(body))
    return is_assigned and not goes_anywhere(event.base.id, body, returned=returned)


def keyword_values(args: Sequence[Argument], values: Values) -> list[KeywordValue]:
    """The keywords of a call, those inside `**{...}` and `**dict(...)` too."""
    out: list[KeywordValue] = []
    for arg, held in zip(args, values.held, strict=True):
        if arg.keyword is not None:
            out.append(KeywordValue(arg.keyword, arg.at, held))
        elif arg.star == "**":
            out += [KeywordValue(k, arg.at, v) for k, v in (known_entries(known(held)) or {}).items()]
    return out
