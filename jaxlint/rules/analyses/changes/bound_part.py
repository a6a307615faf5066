"""A compiled method of an instance that an attribute of `self` holds, and the methods that change the instance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jaxlint.infer.bodies.slots import changed_by, slot_of
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.stale import called_in_construction, is_preparing, reads
from jaxlint.rules.analyses.instances.methods import own_methods, run_by
from jaxlint.symbols.outline import UPDATING, Function
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, dotted, is_none, last_name
from jaxlint.syntax.statements import own_parts, walk


class HeldPart(NamedTuple):
    """An attribute of `self` that holds the instance whose method a call is given."""

    attr: str
    #: Whether that is what the call names (`jax.jit(self.agent.act)`), and not the parameter that the attribute is
    #: given as well (`self.agent = agent`): then it may hold another instance later, and the first one be meant.
    is_named: bool


def held_part(value: Expr | None, method: Function) -> HeldPart | None:
    """The attribute of `self` whose method a call is given: `agent` for `jax.jit(self.agent.act)`."""
    given = value.positional[:1] if isinstance(value, Call) else ()
    slot = slot_of(given[0].value) if given and isinstance(given[0], Attribute) else None
    if slot is None:
        return None
    if slot.root == method.self_name:
        return HeldPart(slot.path[0], True) if len(slot.path) == 1 else None
    if slot.path or all(parameter.name != slot.root for parameter in method.parameters):
        return None
    holding = (a.attr for a in method.self_assignments if isinstance(a.value, Name) and a.value.id == slot.root)
    attr = next(holding, None)
    return None if attr is None else HeldPart(attr, False)


def changed_part(
    held: HeldPart, compiled: Function, cls: PytreeClass, holder: str, owner: PytreeClass, evaluator: Evaluator
) -> tuple[str, Function] | None:
    """What a method of `owner` gives a new value that `compiled` reads of the instance of `cls`, and that method.

    `holder` is the attribute that keeps what was compiled: who assigns that, too, compiles anew.
    """
    part = held.attr
    read = {name for name in reads(run_by(compiled, cls).values(), cls) if _is_leaf(name, cls)}
    constructing = called_in_construction(owner)
    later = (f for one in owner.mro for f in own_methods(one) if not held.is_named and f.name not in constructing)
    if any(a.attr == part for function in later for a in function.self_assignments):
        return None
    for one in owner.mro if read else ():
        for function in own_methods(one):
            if function.name in constructing or is_preparing(function.name) or function.self_name is None:
                continue
            if any(a.attr == holder for f in run_by(function, owner).values() for a in f.self_assignments):
                continue
            if part in {a.attr for a in function.self_assignments} | function.self_reads:
                found = next(_changed_in(function, one, part, read, cls, evaluator), None)
                if found is not None:
                    return found, function
    return None


def _changed_in(
    function: Function, owner: PytreeClass, part: str, read: set[str], cls: PytreeClass, evaluator: Evaluator
) -> Iterator[str]:
    """What a method changes: the attribute that holds the instance, or an attribute of that."""
    own = f"{function.self_name}.{part}"
    for assignment in function.self_assignments:
        value = assignment.value
        if assignment.attr != part or value is None or is_none(value) or dotted(value) == own:
            continue
        is_update = isinstance(value, Call) and last_name(value.func) in UPDATING and not value.has_star
        given = {argument.keyword or "" for argument in value.args} if isinstance(value, Call) else set()
        if not is_update or given & read:
            yield part
    body = evaluator.calls.body_of(FunctionSymbol(owner.module, function)) if cls.frozen is False else None
    for statement in walk(body or ()):
        for _, slot in changed_by(statement):
            if slot.path[:1] == (part,) and slot.root == function.self_name and set(slot.path[1:2]) & read:
                yield f"{part}.{slot.path[1]}"
        for call in own_parts(statement):
            if isinstance(call, Call) and isinstance(call.func, Attribute) and dotted(call.func.value) == own:
                yield from (f"{part}.{name}" for name in sorted(_set_by(call.func.attr, cls) & read))


def _set_by(name: str, cls: PytreeClass) -> set[str]:
    """The attributes that a method of an instance gives new values, or changes in place."""
    method = None if is_preparing(name) else cls.method(name)
    called = () if method is None else run_by(method[1], cls).values()
    return {attr for f in called for attr in (*(a.attr for a in f.self_assignments), *f.self_mutations)}


def _is_leaf(name: str, cls: PytreeClass) -> bool:
    field = cls.field(name) if cls.is_pytree else None
    return field is not None and field.role is Role.LEAF
