"""Slots: variables, and what is reached from them by attributes and items; who binds and who changes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from jaxlint.infer.bodies.contents import contents_of
from jaxlint.symbols.outline import MUTATING
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Conditional,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Name,
    NamedExpr,
    Starred,
    Subscript,
    dotted,
)
from jaxlint.syntax.remembered import remembered
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
    all_parts,
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
GIVING = frozenset({"pop", "popitem", "popleft", "setdefault"})


MAX_ROUNDS = 4

#: Functions that do not change what they are given.
_LOOKING = frozenset({"zip", "enumerate", "reversed", "len", "list", "tuple", "dict", "print", "sorted", "sum", "iter"})


class Slot(msgspec.Struct, frozen=True):
    """A place that a variable leads to."""

    root: str
    path: tuple[Step, ...] = ()

    def below(self, *path: Step) -> Slot:
        """A place inside of it."""
        return Slot(self.root, (*self.path, *path))


def slot_of(expr: Expr) -> Slot | None:
    """The place that `a.b["c"]` names, and `a.b.setdefault("c", [])`."""
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
            case Call(func=Attribute(value=value, attr="setdefault"), args=(key, _)) if not expr.has_star:
                path.append(_item(key.value))
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
        case Return(value=Call(func=Attribute(value=held, attr=method)) as call) if method in MUTATING - GIVING:
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
    return source_among(slot, bindings_in(body))


@remembered(256)
def bindings_in(body: Body) -> Sequence[Binding]:
    """The variables that the statements of a body bind; what a list or dict holds is not known once it may change."""
    contents = contents_of(body)
    statements = contents.statements
    bindings = [b for statement in statements for b in _bound_by(statement)]
    for named in contents.of(NamedExpr):
        bindings += _bound(named.target, slot_of(named.value), named.value, is_whole=True)
    if not any(b.is_whole and b.slot is None and _may_change(b.value) for b in bindings):
        return bindings
    changed = {slot.root for statement in statements for _, slot in changed_by(statement) if len(slot.path) == 1}
    for call in contents.of(Call):
        if not isinstance(call.func, Name) or call.func.id not in _LOOKING:
            changed.update(a.value.id for a in call.args if isinstance(a.value, Name))
    return [replace(b, is_whole=False) if b.name in changed and _may_change(b.value) else b for b in bindings]


def _may_change(value: Expr | None) -> bool:
    """Whether what a display makes may hold something else later."""
    return isinstance(value, DictDisplay) or (isinstance(value, Display) and value.kind != "tuple")


def held_at(slot: Slot, bindings: Sequence[Binding]) -> Slot | None:
    """The place where the very object that a slot leads to is held, as seen from the first variable that holds it."""
    found = source_among(slot.below(ANYWHERE), bindings)
    return None if found is None else Slot(found.root, found.path[:-1])


def source_among(slot: Slot, bindings: Sequence[Binding]) -> Slot | None:
    """The same place as seen from the first variable that holds it, where the variables are bound like that."""
    for _ in range(MAX_ROUNDS):
        bound = [b for b in bindings if b.name == slot.root]
        places = {_place(one, slot.path) for one in bound}
        if not bound or (len(bound) == 1 and None in places):
            return slot
        if len(places) > 1 or None in places:
            return None
        (place,) = places
        if place is None or place.root == slot.root:
            return None
        slot = place
    return None


def _place(binding: Binding, path: tuple[Step, ...]) -> Slot | None:
    """The place that a path from a variable leads to, as seen from what the variable is bound to."""
    if binding.slot is not None:
        return binding.slot.below(*path)
    if not binding.is_whole or binding.value is None:
        return None
    held = _inside(binding.value, path[:-1])  # to put another item into a display changes none of its items
    return None if held is None else held.below(*path[-1:])


def _inside(value: Expr, path: tuple[Step, ...]) -> Slot | None:
    """The place that a path leads to from a display of places; all that it may be must be the same one."""
    slot = slot_of(value)
    if slot is not None:
        return slot.below(*path)
    choices: tuple[Expr, ...] = ()
    match value:
        case Conditional(body=body, orelse=orelse):
            return _same([_inside(body, path), _inside(orelse, path)])
        case Display(items=items) if path and not value.has_star:
            steps = [f"[{index}]" for index in range(len(items))]
            choices = tuple(item for item, step in zip(items, steps, strict=True) if path[0] in (step, ANY_ITEM))
        case DictDisplay(keys=keys, values=values) if path and None not in keys:
            steps = [ANY_ITEM if key is None else _item(key) for key in keys]
            chosen = zip(values, steps, strict=True)
            choices = tuple(item for item, step in chosen if path[0] == step or ANY_ITEM in (path[0], step))
    return _same([_inside(choice, path[1:]) for choice in choices])


def _same(places: list[Slot | None]) -> Slot | None:
    """The one place that all of these are, if they are the same."""
    return places[0] if places and len(set(places)) == 1 else None


def is_bound(name: str, body: Body) -> bool:
    """Whether some statement binds the variable."""
    return any(b.name == name for statement in walk(body, nested=False) for b in bindings_of(statement))


class Binding(msgspec.Struct, frozen=True):
    """A variable that a statement binds: to a part of something, to the value of an expression, or to neither."""

    name: str
    slot: Slot | None = None
    value: Expr | None = None
    #: Whether it is all of that value, and no part of it.
    is_whole: bool = False


def bindings_of(statement: Statement) -> Iterator[Binding]:
    """The variables that a statement binds, and the slots that they then stand for."""
    yield from _bound_by(statement)
    for expr in expressions(statement):
        for part in parts(expr, nested=False):
            if isinstance(part, NamedExpr):
                yield from _bound(part.target, slot_of(part.value), part.value, is_whole=True)


def _bound_by(statement: Statement) -> Iterator[Binding]:
    """The variables that a statement binds itself, and no expression in it."""
    match statement:
        case Assign(targets=targets, value=value):
            for target in targets:
                yield from _bound(target, slot_of(value), value, is_whole=True)
        case Annotate(target=target, value=assigned) if assigned is not None:
            yield from _bound(target, slot_of(assigned), assigned, is_whole=True)
        case Augment(target=target):
            yield from _bound(target, None)
        case For(target=Name(id=key)) if goes_through_keys(statement):
            yield Binding(key)
        case For(target=target, iterable=iterable):
            yield from bound_in_turn(target, iterable)
        case With(items=items):
            for entered, name in items:
                if name is not None:
                    yield from _bound(name, None, entered)
        case FunctionDefinition(name=function):
            yield Binding(function)


def goes_through_keys(loop: For) -> bool:
    """Whether a loop looks items up, by its variable, in what it goes through: a dict, and these are its keys."""
    through = slot_of(loop.iterable)
    if through is None or not isinstance(loop.target, Name):
        return False
    looked_up = (part for part in all_parts(loop.body, nested=False) if isinstance(part, Subscript))
    return any(dotted(p.index) == loop.target.id and slot_of(p.value) == through for p in looked_up)


def _pairs(targets: tuple[Expr, ...], value: Display) -> bool:
    """Whether each of some targets gets an item of its own that is written out."""
    return len(targets) == len(value.items) and not any(isinstance(i, Starred) for i in (*targets, *value.items))


def _bound(target: Expr, slot: Slot | None, value: Expr | None = None, *, is_whole: bool = False) -> Iterator[Binding]:
    match target:
        case Name(id=name):
            yield Binding(name, slot, value, is_whole)
        case Display(items=items) if isinstance(value, Display) and _pairs(items, value):
            for item, part in zip(items, value.items, strict=True):
                yield from _bound(item, slot_of(part), part, is_whole=is_whole)
        case Display(items=items) if not any(isinstance(i, Starred) for i in items):
            for index, item in enumerate(items):
                yield from _bound(item, None if slot is None else slot.below(f"[{index}]"), value)
        case Display() | Starred():
            for name in target_names(target):
                yield Binding(name, None if slot is None else slot.below(ANYWHERE), value)


def bound_in_turn(target: Expr, iterable: Expr) -> Iterator[Binding]:
    """The variables of a loop over the items of something."""
    items = target.items if isinstance(target, Display) else ()
    match iterable:
        case Call(func=Name(id="enumerate"), args=[given]) if len(items) == 2:
            yield from _bound(items[0], None)
            yield from bound_in_turn(items[1], given.value)
        case Call(func=Name(id="zip")) if len(items) == len(iterable.positional) and not iterable.has_star:
            for item, turned in zip(items, iterable.positional, strict=True):
                yield from bound_in_turn(item, turned)
        case Call(func=Name(id="reversed" | "list" | "tuple" | "sorted"), args=[given]):
            yield from bound_in_turn(target, given.value)
        case Call(func=Attribute(value=held, attr="items"), args=()) if len(items) == 2:
            yield from _bound(items[0], None)
            yield from bound_in_turn(items[1], held)
        case Call(func=Attribute(value=held, attr="values"), args=()):
            yield from bound_in_turn(target, held)
        case _:
            slot = _inside(iterable, (ANY_ITEM,))
            yield from _bound(target, slot, iterable)
