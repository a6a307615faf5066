"""What a body changes in place: attributes, items and containers, itself or through methods that it calls."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import msgspec
from msgspec.structs import replace

from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import AssignAttribute, CallMethod, CodeRead, MutateField
from jaxlint.infer.slots import Slot, changed_by, origin, slot_of
from jaxlint.infer.values import UNKNOWN, Container, Instance, Value, element_of, plain
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.branches_taken import left_out
from jaxlint.rules.analyses.local_instances import LocalInstances
from jaxlint.rules.analyses.rebinding import scope_of
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Compare,
    Comprehension,
    Constant,
    Expr,
    Name,
    Unary,
    children,
    is_none,
    is_number,
)
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    Body,
    Delete,
    Do,
    If,
    Statement,
    all_parts,
    parts,
    target_names,
    walk,
)

#: What values are called that can be changed item by item.
CONTAINERS = ("dict", "list", "mapping", "set")
#: Attributes of arrays that are the same for tracers.
_KNOWN_WHILE_TRACING = frozenset({"shape", "ndim", "dtype", "size", "weak_type"})
_MAX_DEPTH = 4


class Purpose(msgspec.Struct, frozen=True):
    """What the new value is made from, as far as that tells what it is for."""

    #: Whether it is made from the old one.
    updates: bool = False
    #: Whether it is certainly meant to last: to count is of no use in a single call.
    lasts: bool = False
    #: Whether it is made from what the function is given.
    computed: bool = False
    #: Whether it is the old one with something added or subtracted.
    adds: bool = False


class Mutation(msgspec.Struct, frozen=True):
    """A change in place of what is at a slot."""

    at: object
    slot: Slot
    purpose: Purpose
    #: The class of the instance that holds what is changed, if it is known.
    owner: PytreeClass | None = None
    #: Whether it is an attribute that is assigned, and no item.
    of_attribute: bool = False

    @property
    def text(self) -> str:
        """What is changed: the attribute, or the container of the item, with the class that it belongs to."""
        path = self.slot.path
        items = [i for i, step in enumerate(path) if step.startswith("[")]
        text = ".".join((self.slot.root, *path[: items[0] if items else None]))
        return f"`{text}`" if self.owner is None else f"`{text}` of `{self.owner.name}`"


def mutations(code: CodeRead, evaluator: Evaluator) -> list[Mutation]:
    """The changes in place that a body makes, each once: of attributes, of leaves and of variables that hold dicts.

    Frozen pytrees do not change, and what their methods do to themselves is no change either.
    """
    return list(_Finder(code, evaluator).find())


def is_cache(slot: Slot, body: Body) -> bool:
    """Whether a body asks whether an attribute is there: then it is made once, which is what is wanted.

    It may also ask for a key of a table of the same object, and put that key there: what else it changes goes with it.
    """
    tests = [test for s in walk(body, nested=False) if isinstance(s, If) for test, _ in s.branches]
    asked = [part for test in tests for part in parts(test)]
    return any(_asks_for(part, slot) for part in asked) or _fills_table(slot.root, asked, body)


def _fills_table(root: str, asked: list[Expr], body: Body) -> bool:
    """Whether some tests ask for a key of a table of the object `root`, which the body puts something into."""
    tables = {slot_of(p.comparators[0]) for p in asked if isinstance(p, Compare) and p.ops in (("in",), ("not in",))}
    for statement in walk(body, nested=False):
        for _, stored in changed_by(statement):
            if stored.root == root and len(stored.path) == 2 and Slot(root, stored.path[:1]) in tables:
                return stored.path[1].startswith("[")
    return False


class _Finder:
    """Looks at one body."""

    def __init__(self, code: CodeRead, evaluator: Evaluator) -> None:
        self.code = code
        self.evaluator = evaluator
        method = code.place.method
        self.self_name = method.self_name if method is not None else None

    @cached_property
    def made(self) -> set[str]:
        """The variables whose values are made from those of traced parameters."""
        function = self.code.function
        parameters = {p.name for p in function.parameters} if function is not None else set()
        return _made_from(parameters - {self.self_name} - _static_parameters(self.code), self.code.body)

    def find(self) -> Iterator[Mutation]:
        changes = {id(at): (at, s, slot) for s in self.code.statements for at, slot in changed_by(s)}
        for event in self.code.events:
            match event:
                case AssignAttribute(at=at, receiver_text=str(text), attr=attr):
                    root, *path = text.split(".")
                    _, statement, slot = changes.pop(id(at), (at, None, Slot(root, (*path, attr))))
                    cls = event.receiver.cls
                    if attr and not event.alternatives and _changes(cls):
                        yield Mutation(at, slot, self._purpose(statement, slot, event.on_self), cls, True)
                case MutateField(at=at) if id(at) in changes:
                    _, statement, slot = changes.pop(id(at))
                    if _is_container(event):
                        yield Mutation(at, slot, self._purpose(statement, slot, False), event.receiver.cls)
                case CallMethod(receiver=Instance(cls=cls), call=call) if cls.is_pytree:
                    yield from self._by_method(call, cls)
        for at, statement, slot in changes.values():
            if all(step.startswith("[") for step in slot.path) and not _removes(statement):
                yield Mutation(at, slot, self._purpose(statement, slot, False))
        for statement in self.code.statements:
            if isinstance(statement, Do) and isinstance(statement.value, Call):
                yield from self._by_function(statement.value)
        owner = self.code.place.owner
        if owner is not None and not owner.is_pytree:
            for part in all_parts(self.code.body, nested=False):
                if isinstance(part, Call) and self._is_on_self(part):
                    yield from self._by_method(part, owner)

    def _by_function(self, call: Call) -> Iterator[Mutation]:
        """`push(buffer, x)`, where the function puts something into what it is given, or assigns an attribute of it."""
        place = self.code.place
        symbol = self.evaluator.model.resolver.resolve(call.func, place.module, scope_of(place))
        if not isinstance(symbol, FunctionSymbol) or symbol.declaration.scope:
            return
        function = symbol.declaration
        if function.is_generator or function.decorators or self.evaluator.calls.transformed.of(function, symbol.module):
            return
        names = [p.name for p in function.parameters if p.kind == "positional"]
        given = call.given_to(names if not call.has_star else ())
        body = self.evaluator.calls.body_of(symbol) or () if given else ()
        made: set[str] | None = None
        for statement in walk(body, nested=False):
            for _, slot in changed_by(statement):
                filled = None if _removes(statement) else origin(slot, body, given)
                held = slot_of(given[filled.root]) if filled is not None else None
                if filled is None or held is None or not filled.path:
                    continue
                if len(filled.path) == 1 and filled.path[0].startswith("["):
                    yield Mutation(call.at, held.below(*filled.path), Purpose(computed=True))
                    return
                owner = self._changed_below(given[filled.root], filled.path)
                if owner is not None and not is_cache(slot, body):
                    made = _made_from(set(given), body) if made is None else made
                    purpose = _purpose(statement, slot, False, made)
                    is_attribute = not filled.path[-1].startswith("[")
                    yield Mutation(call.at, held.below(*filled.path), purpose, owner, is_attribute)

    def _changed_below(self, given: Expr, path: tuple[str, ...]) -> PytreeClass | None:
        """The class of the instance that a function is given, or that of the part of it whose attribute is changed.

        None if it is not certain that this changes where it stands: a mutable instance, or a container.
        """
        instance = LocalInstances.of(self.code, self.evaluator).instance(given)
        value: Value = UNKNOWN if instance is None else instance
        for step in path[:-1]:
            value = element_of(value) if step.startswith("[") else plain(self.evaluator.attribute_of(value, step))
        if instance is not None and path[-1].startswith("["):
            return instance.cls if isinstance(value, Container) and value.kind in CONTAINERS else None
        if not isinstance(value, Instance) or not value.cls.is_pytree or not _changes(value.cls):
            return None
        return value.cls if value.cls.field(path[-1]) is not None else None

    def _is_on_self(self, call: Call) -> bool:
        """Whether a call is one of a method of `self`."""
        return isinstance(call.func, Attribute) and slot_of(call.func.value) == Slot(self.self_name or "")

    def _by_method(self, call: Call, cls: PytreeClass) -> Iterator[Mutation]:
        """`receiver.method()`, where the method changes its `self` and does not return that."""
        slot = slot_of(call.func.value) if isinstance(call.func, Attribute) else None
        if slot is None or not isinstance(call.func, Attribute):
            return
        found = self._changed_in(cls, call.func.attr, call)
        if found is not None:
            path, purpose = found
            lasts = self._is_on_self(call) and cls.is_pytree
            yield Mutation(call.at, slot.below(*path), replace(purpose, lasts=lasts), cls, len(path) == 1)

    def _changed_in(
        self, cls: PytreeClass, name: str, call: Call | None, depth: int = 0
    ) -> tuple[tuple[str, ...], Purpose] | None:
        """The first attribute of its `self` that a method assigns, or puts an item into: the path that leads there.

        None if it returns that, or only fills a cache. What stands in a branch that the call does not come to does not
        count.
        """
        found = cls.method(name)
        self_name = found[1].self_name if found is not None else None
        if found is None or self_name is None or depth > _MAX_DEPTH:
            return None
        owner, method = found
        if self.evaluator.getter(cls, name) is not None:
            return None  # what a property gives is called, and not its setter
        for value in method.return_values:
            if any(isinstance(p, Name) and p.id == self_name for p in (value, *getattr(value, "items", ()))):
                return None
        changes = method.self_assignments or method.self_mutations
        body = (self.evaluator.calls.body_of(FunctionSymbol(owner.module, method)) if changes else None) or ()
        made = _made_from({p.name for p in method.parameters} - {self_name}, body)
        left = left_out(call, method, body, self._optional()) if call is not None else frozenset()
        for statement in walk(body, nested=False):
            for _, slot in changed_by(statement) if id(statement) not in left else ():
                if slot.root == self_name and self._is_changed(slot, statement, cls) and not is_cache(slot, body):
                    return slot.path, _purpose(statement, slot, False, made)
        inner = (self._changed_in(cls, called, None, depth + 1) for called in sorted(method.self_calls - {name}))
        return next((one for one in inner if one is not None), None)

    def _optional(self) -> set[str]:
        """The parameters of the function that may be None."""
        function = self.code.function
        return {p.name for p in function.parameters if is_none(p.default)} if function is not None else set()

    def _is_changed(self, slot: Slot, statement: Statement, cls: PytreeClass) -> bool:
        """Whether a method changes an attribute of `self`, or the container that a field holds."""
        if len(slot.path) == 1:
            return _changes(cls)
        field = cls.field(slot.path[0]) if len(slot.path) == 2 and slot.path[1].startswith("[") else None
        if field is None or field.role is not Role.LEAF or not cls.is_pytree or _removes(statement):
            return False
        held = plain(self.evaluator.attribute_of(Instance(cls), slot.path[0]))
        return isinstance(held, Container) and held.kind in CONTAINERS

    def _purpose(self, statement: Statement | None, slot: Slot, on_self: bool) -> Purpose:
        return _purpose(statement, slot, on_self, self.made)


def _static_parameters(code: CodeRead) -> set[str]:
    """The parameters that have one value for each time that the code is traced."""
    if code.function is None:
        return set()
    return {name for a in code.applied for name in a.static_parameters(code.function) or ()}


# -- statements ----------------------------------------------------------------------------------


def _purpose(statement: Statement | None, slot: Slot, on_self: bool, made: set[str]) -> Purpose:
    """What a new value is made from; it is meant to last where it counts, or where a method updates its own."""
    match statement:
        case Augment(op=op, value=value):
            adds = op in ("+", "-")
            return Purpose(True, on_self or (adds and is_number(value)), _mentions(value, made), adds)
        case Assign(value=value):
            updates = any(slot_of(part) == slot for part in parts(value))
            adds = updates and isinstance(value, Binary) and value.op in ("+", "-")
            return Purpose(updates, updates and (on_self or _counts(value, slot)), _mentions(value, made), adds)
    return Purpose(computed=True)


def _made_from(names: set[str], body: Body) -> set[str]:
    """The names, and the variables whose values are made from theirs."""
    made = set(names)
    while True:
        before = len(made)
        for statement in walk(body, nested=False):
            if isinstance(statement, Assign) and _mentions(statement.value, made):
                made.update(name for target in statement.targets for name in target_names(target))
        if len(made) == before:
            return made


def _mentions(value: Expr, names: set[str]) -> bool:
    """Whether a value is made from the values of some variables, and not only from their shapes and types."""
    match value:
        case Name(id=name):
            return name in names
        case Attribute(attr=attr) if attr in _KNOWN_WHILE_TRACING:
            return False
        case Call(func=Name(id="len" | "type" | "isinstance")):
            return False
        case Comprehension(key=key, element=element, clauses=clauses):
            for clause in clauses:  # how many items there are is known, too
                if _mentions(clause.iterable, names):
                    names = names.union(target_names(clause.target))
            read = (element, key, *(condition for clause in clauses for condition in clause.conditions))
            return any(_mentions(part, names) for part in read if part is not None)
    return any(_mentions(child, names) for child in children(value))


def _counts(value: Expr, slot: Slot) -> bool:
    """Whether a value is that of the slot plus a number."""
    if not isinstance(value, Binary) or value.op not in ("+", "-"):
        return False
    pairs = ((value.left, value.right), (value.right, value.left))
    return any(slot_of(one) == slot and is_number(other) for one, other in pairs)


def _removes(statement: Statement) -> bool:
    """Whether a statement only removes something, which is often meant for this call alone."""
    match statement:
        case Delete() | Do(value=Call(func=Attribute(attr="pop" | "popitem" | "clear" | "remove" | "discard"))):
            return True
    return False


def _asks_for(test: Expr, slot: Slot) -> bool:
    match test:
        case Compare(left=left, ops=("is" | "is not",)):
            return slot_of(left) == slot
        case Unary(op="not", operand=operand):
            return slot_of(operand) == slot
        case Call(func=Name(id="hasattr" | "getattr"), args=[_, asked, *_]):
            return isinstance(asked.value, Constant) and asked.value.value == slot.path[-1]
    return False


# -- classes -------------------------------------------------------------------------------------


def _changes(cls: PytreeClass) -> bool:
    """Whether the instances of a class are changed where they stand: ordinary ones, and mutable pytrees."""
    return not cls.is_pytree or (cls.frozen is False and cls.registered is not False)


def _is_container(event: MutateField) -> bool:
    """Whether a leaf is changed that is a list, a dict or the like."""
    field, held = event.receiver.cls.field(event.field), plain(event.held)
    if field is None or field.role is not Role.LEAF or event.how == "attribute":
        return False
    return isinstance(held, Container) and held.kind in CONTAINERS
