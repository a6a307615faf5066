"""What a function changes in place of what a call gives it, itself or through functions that it calls."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.bodies.contents import contents_of
from jaxlint.infer.bodies.slots import ANYWHERE, Slot, changed_by, origin, slot_of
from jaxlint.infer.bodies.usage import Changed
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import FunctionValue
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.changes.purposes import Purpose, is_cache, made_from, purpose_of, removes
from jaxlint.rules.analyses.instances.callees import Callee, callee_of
from jaxlint.symbols.outline import names_by_position
from jaxlint.syntax.expressions import Attribute, Call, Compare, Expr, Name
from jaxlint.syntax.remembered import remembered
from jaxlint.syntax.statements import Body, Do, Statement

#: Through how many functions a change is followed.
_MOST = 2


class GivenChange(msgspec.Struct, frozen=True):
    """A change of what a parameter is given."""

    slot: Slot
    purpose: Purpose
    #: Whether the function uses the new value, or hands it on.
    is_used: bool
    #: Whether it only fills what is not there yet.
    is_cached: bool
    #: The method of what stands there that is called, and may change it.
    method: str = ""


def changes_of(callee: Callee, evaluator: Evaluator, depth: int = 0) -> Iterator[GivenChange]:
    """What a function changes of what its parameters are given; to remove something is often meant for this call."""
    body, names = callee.body, frozenset(p.name for p in callee.parameters)
    yield from _own_changes(body, names)
    if depth >= _MOST:
        return
    changing = evaluator.model.project_index.changing_method_names
    for call in contents_of(body).of(Call):
        if isinstance(call.func, Attribute) and call.func.attr in changing:
            yield from _by_method(call, call.func, body, names)
        if not any(_leads_to(a.value, names) for a in call.args):
            continue
        symbol = evaluator.model.resolver.resolve(call.func, callee.module, callee.scope)
        if not isinstance(symbol, FunctionSymbol) or symbol.declaration.scope or symbol.declaration.owner:
            continue
        inner = callee_of(FunctionValue(symbol), evaluator)
        if inner is None:
            continue
        for change in changes_of(inner, evaluator, depth + 1):
            found = given_for(call, inner, change.slot)
            held = slot_of(found[0]) if found is not None else None
            place = origin(held.below(*found[1]), body, names) if found is not None and held is not None else None
            if place is not None and (place.path or change.method):
                used = place.below(ANYWHERE) if change.method else place
                is_used = change.is_used or _is_used(change.purpose, used, call.at, body)
                yield GivenChange(place, change.purpose, is_used, change.is_cached, change.method)


def _by_method(call: Call, func: Attribute, body: Body, names: frozenset[str]) -> Iterator[GivenChange]:
    """The change of a call of a method, which may change what it is called on."""
    held = slot_of(func.value)
    place = None if held is None else origin(held.below(ANYWHERE), body, names)
    if place is not None:
        is_used = _is_used(Purpose(), place, call.at, body)
        yield GivenChange(Slot(place.root, place.path[:-1]), Purpose(), is_used, False, func.attr)


@remembered(256)
def _own_changes(body: Body, names: frozenset[str]) -> tuple[GivenChange, ...]:
    """What the statements of a body themselves change of what some parameters are given."""
    made: set[str] | None = None
    found: list[GivenChange] = []
    for statement in contents_of(body).statements:
        for at, slot in changed_by(statement):
            place = None if removes(statement) else origin(slot, body, names)
            if place is not None and place.path:
                made = made_from(set(names), body) if made is None else made
                purpose = purpose_of(statement, slot, False, made)
                is_used = _is_used(purpose, place, at, body)
                is_cached = is_cache(slot, body) or _fills_in(statement, slot, body)
                found.append(GivenChange(place, purpose, is_used, is_cached))
    return tuple(found)


def _fills_in(statement: Statement, slot: Slot, body: Body) -> bool:
    """Whether a statement puts into a container what is not there yet: by `setdefault`, or where the body asked."""
    match statement:
        case Do(value=Call(func=Attribute(attr="setdefault"))):
            return True
    holder = Slot(slot.root, slot.path[:-1])
    asked = (part for part in contents_of(body).of(Compare) if part.ops in (("in",), ("not in",)))
    return slot.path[-1].startswith("[") and any(slot_of(part.comparators[0]) == holder for part in asked)


def _leads_to(expr: Expr, names: frozenset[str]) -> bool:
    slot = slot_of(expr)
    return slot is not None and slot.root in names


def _is_used(purpose: Purpose, place: Slot, at: object, body: Body) -> bool:
    changed = Changed(place, at, body)
    return changed.is_handed_on() if purpose.lasts else changed.is_read() or changed.is_handed_on()


def given_for(call: Call, callee: Callee, changed: Slot) -> tuple[Expr, tuple[str, ...]] | None:
    """The argument that holds what is changed, and the path that leads there from it."""
    positional = names_by_position(callee.parameters)
    stars = [argument for argument in call.args if argument.star]
    given = call.given_to(positional)
    kinds = {p.name: p.kind for p in callee.parameters}
    root, path = changed.root, changed.path
    if root in given and not any(argument.star == "*" for argument in stars):
        return given[root], path
    beyond = call.positional[len(positional) :]
    match kinds.get(root):
        case "**" if len(path) > 1 and not stars:
            extra = given.get(path[0][2:-2])
            return (extra, path[1:]) if extra is not None else None
        case "*" if len(path) > 1 and not stars:
            step = path[0][1:-1]
            return (beyond[int(step)], path[1:]) if step.isdigit() and int(step) < len(beyond) else None
        case "positional" | "keyword" if len(call.args) == len(stars) == 1 and isinstance(stars[0].value, Name):
            if stars[0].star == "**":
                return stars[0].value, (f"[{root!r}]", *path)
            return (stars[0].value, (f"[{positional.index(root)}]", *path)) if root in positional else None
    return None
