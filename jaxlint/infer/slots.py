"""Slots: variables, and what is reached from them by attributes and items; who binds and who changes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from jaxlint.symbols.outline import MUTATING
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Constant,
    Display,
    Expr,
    Name,
    NamedExpr,
    Starred,
    Subscript,
)
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Augment,
    Body,
    Delete,
    Do,
    For,
    FunctionDefinition,
    Return,
    Statement,
    With,
    expressions,
    parts,
    target_names,
    walk,
)

#: One step from an object to a part of it: an attribute's name, or an item in brackets.
Step = str


ANY_ITEM = "[]"


#: A step of which nothing is known.
ANYWHERE = "*"


#: Methods that change a container and return something of it.
_GIVING = frozenset({"pop", "popitem", "popleft", "setdefault"})


MAX_ROUNDS = 4


class Slot(msgspec.Struct, frozen=True):
    """A place that a variable leads to."""

    root: str
    path: tuple[Step, ...] = ()

    def below(self, *path: Step) -> Slot:
        """A place inside of it."""
        return Slot(self.root, (*self.path, *path))


def slot_of(expr: Expr) -> Slot | None:
    """The place that `a.b["c"]` names."""
    path: list[Step] = []
    while True:
        match expr:
            case Name(id=root):
                return Slot(root, tuple(reversed(path)))
            case Attribute(value=value, attr=attr):
                path.append(attr)
                expr = value
            case Subscript(value=value, index=index):
                path.append(_item(index))
                expr = value
            case _:
                return None


def _item(index: Expr) -> Step:
    if isinstance(index, Constant) and index.kind in ("str", "int"):
        return f"[{index.value!r}]"
    return ANY_ITEM


def may_be(one: Step, other: Step) -> bool:
    """Whether two steps may lead to the same part."""
    if one == other or ANYWHERE in (one, other):
        return True
    items = one.startswith("["), other.startswith("[")
    return ANY_ITEM in (one, other) if all(items) else any(items)


def changed_by(statement: Statement) -> Iterator[tuple[object, Slot]]:
    """The attributes and items that a statement assigns or deletes, and the containers that it changes.

    Each comes with what a finding should point at: the target, or the call.
    """
    targets: tuple[Expr, ...] = ()
    match statement:
        case Assign(targets=targets):
            pass
        case Augment(target=target) | Annotate(target=target) | Delete(target=target) | For(target=target):
            targets = (target,)
        case Do(value=Call(func=Attribute(value=held, attr=method)) as call) if method in MUTATING:
            yield from _of_method(call, held)
        case Return(value=Call(func=Attribute(value=held, attr=method)) as call) if method in MUTATING - _GIVING:
            yield from _of_method(call, held)
    for target in targets:
        for part in parts(target) if isinstance(target, Display) else (target,):
            slot = slot_of(part) if isinstance(part, (Attribute, Subscript)) else None
            if slot is not None:
                yield part.at, slot


def _of_method(call: Call, held: Expr) -> Iterator[tuple[object, Slot]]:
    slot = slot_of(held)
    if slot is not None:
        yield call.at, slot.below(ANY_ITEM)


def origin(slot: Slot, body: Body, parameters: Iterable[str]) -> Slot | None:
    """The same place as seen from a parameter; None if the variable is none and is not bound once to a part of one.

    A parameter that is bound again is none any more.
    """
    first = source(slot, body)
    return None if first is None or first.root not in parameters or is_bound(first.root, body) else first


def source(slot: Slot, body: Body) -> Slot | None:
    """The same place as seen from the first variable that holds it; None where a variable on the way is bound twice."""
    bindings = [b for statement in walk(body, nested=False) for b in bindings_of(statement)]
    for _ in range(MAX_ROUNDS):
        bound = [b.slot for b in bindings if b.name == slot.root]
        if bound in ([], [None]):
            return slot
        if len(bound) > 1 or bound[0] is None or bound[0].root == slot.root:
            return None
        slot = bound[0].below(*slot.path)
    return None


def is_bound(name: str, body: Body) -> bool:
    """Whether some statement binds the variable."""
    return any(b.name == name for statement in walk(body, nested=False) for b in bindings_of(statement))


class _Binding(msgspec.Struct, frozen=True):
    """A variable that a statement binds: to a part of something, to the value of an expression, or to neither."""

    name: str
    slot: Slot | None = None
    value: Expr | None = None


def bindings_of(statement: Statement) -> Iterator[_Binding]:
    """The variables that a statement binds, and the slots that they then stand for."""
    match statement:
        case Assign(targets=targets, value=value):
            for target in targets:
                yield from _bound(target, slot_of(value), value)
        case Annotate(target=target, value=assigned) if assigned is not None:
            yield from _bound(target, slot_of(assigned), assigned)
        case Augment(target=target):
            yield from _bound(target, None)
        case For(target=target, iterable=iterable):
            yield from _bound_in_turn(target, iterable)
        case With(items=items):
            for entered, name in items:
                if name is not None:
                    yield from _bound(name, None, entered)
        case FunctionDefinition(name=function):
            yield _Binding(function)
    for expr in expressions(statement):
        for part in parts(expr, nested=False):
            if isinstance(part, NamedExpr):
                yield from _bound(part.target, slot_of(part.value), part.value)


def _bound(target: Expr, slot: Slot | None, value: Expr | None = None) -> Iterator[_Binding]:
    match target:
        case Name(id=name):
            yield _Binding(name, slot, value)
        case Display(items=items) if not any(isinstance(i, Starred) for i in items):
            for index, item in enumerate(items):
                yield from _bound(item, None if slot is None else slot.below(f"[{index}]"), value)
        case Display() | Starred():
            for name in target_names(target):
                yield _Binding(name, None if slot is None else slot.below(ANYWHERE), value)


def _bound_in_turn(target: Expr, iterable: Expr) -> Iterator[_Binding]:
    """The variables of a loop over the items of something."""
    items = target.items if isinstance(target, Display) else ()
    match iterable:
        case Call(func=Name(id="enumerate"), args=[given]) if len(items) == 2:
            yield from _bound(items[0], None)
            yield from _bound_in_turn(items[1], given.value)
        case Call(func=Name(id="reversed" | "list" | "tuple" | "sorted"), args=[given]):
            yield from _bound_in_turn(target, given.value)
        case Call(func=Attribute(value=held, attr="items"), args=()) if len(items) == 2:
            yield from _bound(items[0], None)
            yield from _bound_in_turn(items[1], held)
        case Call(func=Attribute(value=held, attr="values"), args=()):
            yield from _bound_in_turn(target, held)
        case _:
            slot = slot_of(iterable)
            yield from _bound(target, None if slot is None else slot.below(ANY_ITEM), iterable)
