"""What changes in place are for: what the new values are made from, and whether they only fill a cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import msgspec

from jaxlint.infer.bodies.slots import Slot, changed_by, slot_of
from jaxlint.libraries.arrays import ARRAY_TRAITS
from jaxlint.rules.analyses.bodies.stages import counts
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Compare,
    Comprehension,
    Constant,
    Expr,
    Lambda,
    Name,
    Unary,
    children,
    is_given,
    is_number,
    last_name,
)
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    Body,
    Delete,
    Do,
    If,
    Statement,
    parts,
    target_names,
    walk,
)

#: Attributes of arrays that are the same for tracers.
_KNOWN_WHILE_TRACING = ARRAY_TRAITS | {"weak_type"}


class Purpose(msgspec.Struct, frozen=True):
    """What the new value is made from, as far as that tells what it is for."""

    #: Whether it is made from the old one.
    updates: bool = False
    #: Whether it is certainly meant to last: to count is of no use in a single call.
    lasts: bool = False
    #: Whether it is made from what the function is given.
    computed: bool = False
    #: Whether it is the old one with something added or subtracted, or what a function makes of the whole object.
    adds: bool = False
    #: The way to the part that is added to, where a new object takes the place of the old one: `x` in `Sub(x=s.x + 1)`.
    part: tuple[str, ...] = ()


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


def purpose_of(statement: Statement | None, slot: Slot, on_self: bool, made: set[str]) -> Purpose:
    """What a new value is made from; it is meant to last where it counts, or where a method updates its own."""
    match statement:
        case Augment(op=op, value=value):
            adds = op in ("+", "-")
            return Purpose(True, on_self or (adds and _is_step(value, slot)), _mentions(value, made), adds)
        case Assign(value=value):
            updates = any(slot_of(part) == slot for part in parts(value))
            given, place = next(_added_to(value, slot), (value, slot)) if updates else (value, slot)
            adds = updates and _adds(given, place)
            adds = adds or (isinstance(value, Call) and is_given(slot.root, value))
            part = place.path[len(slot.path) :]
            return Purpose(updates, updates and (on_self or _counts(given, place)), _mentions(value, made), adds, part)
    return Purpose(computed=True)


def made_from(names: set[str], body: Body) -> set[str]:
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
    return any(slot_of(one) == slot and _is_step(other, slot) for one, other in pairs)


def _is_step(number: Expr, slot: Slot) -> bool:
    """Whether what is added to a place counts it up: a whole number.

    To an item of a dict or list that the function is given, it may be added in order to prepare it, as in
    `batch["ids"] += 1`, if no name says that it counts.
    """
    if not isinstance(number, Constant) or not is_number(number) or number.value != int(number.value):
        return False
    return len(slot.path) != 1 or not slot.path[0].startswith("[") or counts(slot.path[0].strip("[]'\""))


def _adds(value: Expr, slot: Slot) -> bool:
    """Whether a value that is made of the old one is that with something added: as a whole, or leaf by leaf."""
    match value:
        case Binary(op=op):
            return op in ("+", "-")
        case Call(positional=(Lambda(params=params, body=Binary(op="+" | "-") as body), *mapped)):
            own = {name for name, given in zip(params, mapped, strict=False) if slot_of(given) == slot}
            return any(isinstance(part, Name) and part.id in own for part in parts(body))
    return applies_updates(value) and any(slot_of(argument.value) == slot for argument in value.args[:1])


def applies_updates(value: Expr) -> TypeGuard[Call]:
    """Whether a value is what optax makes of parameters and the updates of an optimizer."""
    return isinstance(value, Call) and last_name(value.func) == "apply_updates"


def _added_to(value: Expr, slot: Slot) -> Iterator[tuple[Expr, Slot]]:
    """The arguments of a new object that add something to parts, each under its own name."""
    for argument in value.args if isinstance(value, Call) else ():
        if argument.keyword is not None:
            given, place = argument.value, slot.below(argument.keyword)
            if isinstance(given, Binary) and given.op in ("+", "-") and place in map(slot_of, parts(given)):
                yield given, place
            yield from _added_to(given, place)


def removes(statement: Statement) -> bool:
    """Whether a statement only removes something, which is often meant for this call alone."""
    match statement:
        case Delete() | Do(value=Call(func=Attribute(attr="pop" | "popitem" | "clear" | "remove" | "discard"))):
            return True
    return False


def _asks_for(test: Expr, slot: Slot) -> bool:
    """Whether a test asks whether an attribute is there: or is still None, or infinite, which no count is."""
    match test:
        case Compare(left=left, ops=("is" | "is not",)):
            return slot_of(left) == slot
        case Compare(left=left, ops=("==",), comparators=[other]):
            return slot_of(left) == slot and _is_infinity(other)
        case Unary(op="not", operand=operand):
            return slot_of(operand) == slot
        case Call(func=Name(id="hasattr" | "getattr"), args=[_, asked, *_]):
            return isinstance(asked.value, Constant) and asked.value.value == slot.path[-1]
    return False


def _is_infinity(value: Expr) -> bool:
    """Whether a value is infinity, which stands for what is not known yet: `float("inf")`, `math.inf`."""
    match value:
        case Call(func=Name(id="float"), args=[given]):
            return isinstance(given.value, Constant) and given.value.value == "inf"
    return isinstance(value, Attribute) and value.attr == "inf"
