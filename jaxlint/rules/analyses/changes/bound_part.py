"""A compiled method of an instance that an attribute of `self` holds, and the methods that change the instance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from jaxlint.infer.bodies.slots import (
    Slot,
    Step,
    bindings_in,
    bound_in_turn,
    changed_by,
    may_be,
    slot_of,
    source_among,
)
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Transformed
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.constant_attributes import is_constant
from jaxlint.rules.analyses.changes.counting_for import is_computed_with
from jaxlint.rules.analyses.changes.stale import called_in_construction, initialised, is_preparing, reads
from jaxlint.rules.analyses.changes.stored_closures import keeping
from jaxlint.rules.analyses.instances.methods import CONSTRUCTORS, own_methods, run_by
from jaxlint.symbols.outline import UPDATING, Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Comprehension,
    Expr,
    Name,
    Subscript,
    dotted,
    is_none,
    last_name,
)
from jaxlint.syntax.statements import Assign, Body, Do, own_parts, walk


class HeldPart(NamedTuple):
    """An attribute of `self` that holds the instance whose method a call is given."""

    attr: str
    #: The attribute that keeps what was compiled, or a container with it.
    holder: str
    #: Whether that is what the call names (`jax.jit(self.agent.act)`), and not the variable that the attribute is
    #: given as well (`self.agent = agent`): then it may hold another instance later, and the first one be meant.
    is_named: bool
    #: The steps from the attribute to the instance: none, or one to an item of a list or dict (`self.agents[0].act`).
    inside: tuple[Step, ...] = ()


def held_part(event: Transformed, method: Function, body: Body) -> HeldPart | None:
    """The attribute of `self` whose method a call is given: `agent` for `jax.jit(self.agent.act)`.

    The call may stand in a comprehension or a loop over what an attribute holds.
    """
    stored = keeping(event, method)
    holder, value = _item_given(event, method, body) if stored is None else (stored.attr, stored.value)
    bindings = bindings_in(body)
    match value:
        case Comprehension(element=element, clauses=(clause,)):
            turned = list(bound_in_turn(clause.target, clause.iterable))
            hidden = {one.name for one in turned}
            value, bindings = element, [*turned, *(b for b in bindings if b.name not in hidden)]
    given = value.positional[:1] if isinstance(value, Call) else ()
    slot = slot_of(given[0].value) if given and isinstance(given[0], Attribute) else None
    slot = None if slot is None else source_among(slot, bindings)
    if slot is None:
        return None
    if slot.root == method.self_name:
        inside = slot.path[1:]
        return HeldPart(slot.path[0], holder, True, inside) if slot.path and _is_item(inside) else None
    bound = sum(b.name == slot.root for b in bindings)
    is_parameter = method.takes(slot.root)
    if not _is_item(slot.path) or bound + is_parameter != 1:
        return None
    holding = (a.attr for a in method.self_assignments if isinstance(a.value, Name) and a.value.id == slot.root)
    attr = next(holding, None)
    return None if attr is None else HeldPart(attr, holder, False, slot.path)


def _item_given(event: Transformed, method: Function, body: Body) -> tuple[str, Expr | None]:
    """The attribute in whose container a constructor puts a compiled function: `self.fast[name] = jax.jit(...)`."""
    place = place_of(event.at)
    for statement in walk(body, nested=False) if method.name in CONSTRUCTORS else ():
        match statement:
            case Assign(targets=(Subscript(value=container),), value=value):
                pass
            case Do(value=Call(func=Attribute(value=container, attr="append"), args=(argument,))):
                value = argument.value
            case _:
                continue
        slot = slot_of(container)
        if slot is not None and slot.root == method.self_name and len(slot.path) == 1:
            if place_of(value.at).holds(place):
                return slot.path[0], value
    return "", None


def _is_item(path: tuple[Step, ...]) -> bool:
    """Whether a path leads nowhere, or to an item."""
    return not path or (len(path) == 1 and path[0].startswith("["))


def changed_part(
    held: HeldPart, compiled: Function, cls: PytreeClass, owner: PytreeClass, evaluator: Evaluator
) -> tuple[str, Function] | None:
    """What a method of `owner` gives a new value that `compiled` reads of the instance of `cls`, and that method.

    Who assigns what keeps the compiled method, too, compiles anew.
    """
    part, holder = held.attr, held.holder
    inside = run_by(compiled, cls)
    read = {name for name in reads(inside.values(), cls) if _matters(name, inside, cls, evaluator)}
    read = {name for name in read if not is_constant(name, cls, evaluator, owner.module)}
    constructing = called_in_construction(owner)
    later = (f for one in owner.mro for f in own_methods(one) if not held.is_named and f.name not in constructing)
    if any(a.attr == part for function in later for a in function.self_assignments):
        return None
    for one in owner.mro if read else ():
        for function in own_methods(one):
            if function.name in constructing or is_preparing(function.name) or function.self_name is None:
                continue
            run = run_by(function, owner).values()
            if any(holder in f.self_mutations or any(a.attr == holder for a in f.self_assignments) for f in run):
                continue
            if part in {a.attr for a in function.self_assignments} | function.self_reads:
                found = next(_changed_in(function, one, held, read, cls, evaluator), None)
                if found is not None:
                    return found, function
    return None


def _changed_in(
    function: Function, owner: PytreeClass, held: HeldPart, read: set[str], cls: PytreeClass, evaluator: Evaluator
) -> Iterator[str]:
    """What a method changes: the attribute that holds the instance, or an attribute of that."""
    part, path = held.attr, (held.attr, *held.inside)
    own, shown = f"{function.self_name}.{part}", f"{part}[...]" if held.inside else part
    for assignment in function.self_assignments:
        value = assignment.value
        if assignment.attr != part or value is None or is_none(value) or dotted(value) == own:
            continue
        given = _updated(value)
        if given is None or given & read:
            yield part
    is_read = cls.frozen is False or bool(held.inside)
    body = (evaluator.calls.body_of(FunctionSymbol(owner.module, function)) if is_read else None) or ()
    for statement in walk(body):
        for _, changed in changed_by(statement):
            slot = _of_self(changed, function, body)
            if slot is None or not _leads(slot, path):
                continue
            if len(slot.path) == len(path):  # another instance stands there
                given = _updated(statement.value) if isinstance(statement, Assign) else None
                if held.inside and given is not None and given & read:
                    yield shown
            elif slot.path[len(path)] in read and cls.frozen is False:
                yield f"{shown}.{slot.path[len(path)]}"
        for call in own_parts(statement) if cls.frozen is False else ():
            if isinstance(call, Call) and isinstance(call.func, Attribute):
                given_to = slot_of(call.func.value)
                slot = None if given_to is None else _of_self(given_to, function, body)
                if slot is not None and len(slot.path) == len(path) and _leads(slot, path):
                    yield from (f"{shown}.{name}" for name in sorted(set_by(call.func.attr, cls) & read))


def _of_self(slot: Slot, function: Function, body: Body) -> Slot | None:
    """The same place as seen from `self`; None if it is no part of that."""
    if slot.root != function.self_name:
        slot = source_among(slot, bindings_in(body)) or slot
    return slot if slot.root == function.self_name else None


def _leads(slot: Slot, path: tuple[Step, ...]) -> bool:
    """Whether a place may be what a path from `self` leads to, or inside of that."""
    return len(slot.path) >= len(path) and slot.path[0] == path[0] and all(map(may_be, slot.path[1:], path[1:]))


def _updated(value: Expr) -> set[str] | None:
    """The fields that an update gives new values; None if the value is something else, or it is not seen what."""
    if isinstance(value, Call) and last_name(value.func) in UPDATING and not value.has_star:
        return {argument.keyword or "" for argument in value.args}
    return None


def set_by(name: str, cls: PytreeClass) -> set[str]:
    """The attributes that a method of an instance gives new values, or changes in place."""
    method = None if is_preparing(name) else cls.method(name)
    called = () if method is None else run_by(method[1], cls).values()
    return {attr for f in called for attr in (*(a.attr for a in f.self_assignments), *f.self_mutations)}


def _matters(attr: str, inside: Mapping[str, Function], cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an attribute is a leaf, or in an ordinary class what methods are seen to compute with."""
    if not cls.is_pytree:
        return initialised(attr, cls) and is_computed_with(attr, inside, cls, evaluator)
    field = cls.field(attr)
    return field is not None and field.role is Role.LEAF
