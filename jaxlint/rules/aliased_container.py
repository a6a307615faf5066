"""JAX409 aliased-container."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import msgspec

from jaxlint.cst.changes import EditCall, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence, Severity
from jaxlint.infer.bodies.slots import ANY_ITEM, GIVING, Slot, changed_by, may_be, slot_of
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, MutateField, Replace
from jaxlint.infer.known.values import Array, Container, UnknownValue, Value, plain
from jaxlint.libraries.updates import REPLACE_FUNCTIONS
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.bodies.read_after import ReadAfter
from jaxlint.rules.analyses.changes.in_place import is_changed
from jaxlint.rules.analyses.changes.updates import fields_set
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.passed import Called, calls_of, calls_of_method
from jaxlint.rules.analyses.instances.sharing import sharing_at
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Comprehension, Expr, Name, Subscript, children, dotted, items_of
from jaxlint.syntax.names_read import names_read
from jaxlint.syntax.statements import (
    Assign,
    Body,
    Delete,
    Do,
    Return,
    Statement,
    all_parts,
    bound_once,
    parts,
    target_names,
)

_COPIES = frozenset({"copy.copy"})


class _Copy(msgspec.Struct, frozen=True):
    """A copy that shares what its fields hold with the original, but for what it was given."""

    original: str
    given: frozenset[str]
    cls: PytreeClass
    #: The call that makes it and takes what it is given, if it takes anything.
    at: object = None


class AliasedContainer(BodyRule):
    """
    ## What it does

    Finds changes in place of what a state and its updated copy share: of a list, dict, set or numpy array, where the
    original is still used afterwards, in the same function or in one that gives it to this; or where a caller still
    has a parameter, whose dict is given an entry before the copy is made.

    ## Why is this bad?

    `.replace` copies no deeper than the instance itself: a field that it is not given holds the very same container in
    the copy and in the original. What is put into the one appears in the other.

    ## What you will see

    No error. The original has the new entry, too.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array
        info: dict

    def step(state: State):
        new = state.replace(x=state.x + 1)
        new.info["steps"] = 1
        return new, state.info
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array
        info: dict

    def step(state: State):
        new = state.replace(x=state.x + 1, info={**state.info, "steps": 1})
        return new, state.info
    ```

    ## Frameworks

    All: `.replace`, `_replace`, `dataclasses.replace`, `jdc.replace` and `copy.copy`, also in a function or method of
    your own that only returns such a copy. `jdc.copy_and_mutate` and
    `eqx.tree_at` make new lists and dicts, but not new numpy arrays.

    ## Fix safety

    The copy is made with a copy of the dict, list, set or numpy array, where it is changed itself, and not something in
    it: `state.replace(x=x, log=list(state.log))`. The fix is unsafe: the original keeps what it had.

    ## When not to use it

    What is changed before the original is read for the last time is reported; what nobody reads afterwards is not, nor
    is a dict of which other keys are read, nor what is put in and taken out again before.

    ## References

    - [dataclasses.replace](https://docs.python.org/3/library/dataclasses.html#dataclasses.replace)
    - [copy: shallow and deep copies](https://docs.python.org/3/library/copy.html)
    """

    code = "JAX409"
    name = "aliased-container"
    group = "updates"
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.MEDIUM

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Code that changes something in place, and calls what may make a copy of a state."""
        copying = candidate.given.model.project_index.updating_method_names
        return bool(candidate.unit.mutations) and not candidate.unit.calls.isdisjoint(copying)

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what is changed in place in copies that the body makes."""
        yield from _by_another_name(code, evaluator)
        changes = [e for e in code.events if isinstance(e, MutateField) and _may_change(e)]
        yield from _before_the_copy(changes, code, evaluator)
        taken = _taken(code)
        copies = _copies(code, evaluator) if changes or taken else {}
        if not copies:
            return
        yield from _taken_from_copies(taken, copies, code, evaluator)
        slots = {id(at): slot for s in code.statements for at, slot in (*changed_by(s), *_taken_out(s))}
        undone = _undone(code.body, copies)
        for event in changes:
            slot = slots.get(id(event.at))
            copied = None if slot is None else copies.get(slot.root)
            if slot is None or copied is None or slot.path[:1] != (event.field,) or event.field in copied.given:
                continue
            if not is_changed(plain(event.held), event.how) and not _is_by_name(slot):
                continue
            if id(event.at) in undone:
                continue
            by = _read_by(copied.original, slot.path[:2], event.at, code, evaluator)
            if by is not None:
                problem = _problem(event.at, event.receiver.cls, event.field, slot.root, copied.original, by)
                yield msgspec.structs.replace(problem, fix=_own(copied, event.field, event.held))


def _may_change(event: MutateField) -> bool:
    """Whether a field is certainly changed in place, or something is put into it of which nothing is known."""
    held = plain(event.held)
    return is_changed(held, event.how) or (event.how == "item" and isinstance(held, UnknownValue))


def _is_by_name(slot: Slot) -> bool:
    """Whether the item of a field has a text for a key: whatever takes it is a mapping, and is changed in place."""
    return len(slot.path) > 1 and slot.path[1].startswith(("['", '["'))


def _before_the_copy(changes: Sequence[MutateField], code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """A dict of a parameter is given an entry, and a copy of the parameter is returned: the caller's has it as well."""
    returned = {
        id(e) for s in code.statements if isinstance(s, Return) and s.value is not None for e in items_of(s.value)
    }
    updates = [e for e in code.events if isinstance(e, Replace) and id(e.call) in returned] if changes else []
    slots = {id(at): slot for s in code.statements for at, slot in changed_by(s)} if updates else {}
    for event in changes:
        slot = slots.get(id(event.at))
        if slot is None or event.how != "item" or event.mutable_copy or slot.path[:1] != (event.field,):
            continue
        copies = [u for u in updates if u.base is not None and dotted(u.base) == slot.root]
        if not copies or not _is_by_name(slot) or _remakes(event.receiver.cls):
            continue
        if any(u.call.has_star or event.field in {k.name for k in u.keywords} for u in copies):
            continue
        by = _reading_caller(slot.root, slot.path[:2], code, evaluator)
        if by is not None:
            yield _given_before(event, slot, by)


def _by_another_name(code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """What is taken out of a state, changed in place, and given to a copy of the state: `held = state.params`."""
    updates = [e for e in code.events if type(e) is Replace and e.base is not None and not e.call.has_star]
    given = {
        (a.value.id, dotted(u.base), a.keyword): u
        for u in updates
        for a in u.call.args
        if u.base is not None and type(a.value) is Name and a.keyword is not None
    }
    if not given:
        return
    dropped = {id(s.value) for s in code.statements if isinstance(s, Do)}  # there the change itself is what is meant
    instances, once = LocalInstances.of(code, evaluator), bound_once(code.body)
    bases = frozenset(id(u.base) for u in updates)
    for statement in code.statements:
        for at, slot in changed_by(statement):
            taken = once.get(slot.root)
            original = dotted(taken.value) if isinstance(taken, Attribute) else None
            update = given.get((slot.root, original, taken.attr)) if isinstance(taken, Attribute) else None
            if update is None or original is None or not isinstance(taken, Attribute) or id(update.call) in dropped:
                continue
            if (
                not _is_item(slot)
                or not is_changed(plain(instances.value(taken)), "item")
                or _remakes(update.receiver.cls)
            ):
                continue
            by = _read_by(original, (taken.attr, *slot.path), at, code, evaluator, bases)
            if by is not None:
                yield _problem(at, update.receiver.cls, taken.attr, slot.root, original, by)


def _taken(code: CodeRead) -> dict[str, Attribute]:
    """The variables that are bound once, to what is taken out of another one: `held = copy.params`.

    None where no copies are made.
    """
    if "copy" not in code.contents.called and not any(isinstance(e, Replace) for e in code.events):
        return {}
    once = bound_once(code.body)
    return {name: held for name, held in once.items() if isinstance(held, Attribute) and dotted(held.value) in once}


def _taken_from_copies(
    taken: Mapping[str, Attribute], copies: Mapping[str, _Copy], code: CodeRead, evaluator: Evaluator
) -> Iterator[Problem]:
    """What is taken out of a copy and changed in place."""
    instances = LocalInstances.of(code, evaluator)
    for at, slot in (change for s in code.statements for change in changed_by(s)) if taken else ():
        held = taken.get(slot.root)
        copied = None if held is None else copies.get(dotted(held.value) or "")
        if held is None or copied is None or held.attr in copied.given or not _is_item(slot):
            continue
        if is_changed(plain(instances.value(held)), "item"):
            by = _read_by(copied.original, (held.attr, *slot.path), at, code, evaluator)
            if by is not None:
                yield _problem(at, copied.cls, held.attr, slot.root, copied.original, by)


def _is_item(slot: Slot) -> bool:
    """Whether an item of a variable is changed."""
    return len(slot.path) == 1 and slot.path[0].startswith("[")


def _taken_out(statement: Statement) -> Iterator[tuple[object, Slot]]:
    """The containers of which a statement takes something out, and keeps it: `card = state.hand.pop()`.

    Two variables are given what the `pop` of flax's `FrozenDict` returns, which changes nothing.
    """
    match statement:
        case Assign(targets=(Name(),), value=Call(func=Attribute(value=held, attr=method)) as call):
            slot = slot_of(held) if method in GIVING else None
            if slot is not None:
                yield call.at, slot.below(ANY_ITEM)


def _undone(body: Body, copies: Mapping[str, _Copy]) -> set[int]:
    """What a body puts under a key of what copies hold and takes out of there again, before the original is read."""
    found: set[int] = set()
    for index, statement in enumerate(body):
        for at, slot in changed_by(statement) if isinstance(statement, Assign) else ():
            if slot.root not in copies or slot.path[-1] == ANY_ITEM or not slot.path[-1].startswith("["):
                continue
            original = copies[slot.root].original
            for later in body[index + 1 :]:
                out = next((place for place, other in _removed(later) if other == slot), None)
                if out is not None:
                    found |= {id(at), id(out)}
                if out is not None or original.partition(".")[0] in names_read((later,)):
                    break
    return found


def _removed(statement: Statement) -> Iterator[tuple[object, Slot]]:
    """The items that a statement takes out of containers: `del held["a"]`, `held.pop("a")`."""
    match statement:
        case Delete():
            yield from changed_by(statement)
        case (
            Do(value=Call(func=Attribute(value=held, attr="pop"), args=(key, *_)) as call)
            | Assign(value=Call(func=Attribute(value=held, attr="pop"), args=(key, *_)) as call)
        ):
            slot = slot_of(Subscript(call.at, held, key.value))
            if slot is not None:
                yield call.at, slot


def _copies(code: CodeRead, evaluator: Evaluator) -> dict[str, _Copy]:
    """The variables that are bound once, to a shallow copy of another one."""
    updates = {id(e.call): e for e in code.events if isinstance(e, Replace)}
    instances = LocalInstances.of(code, evaluator)
    found: dict[str, list[_Copy | None]] = {}
    for statement in code.statements:
        if not isinstance(statement, Assign):
            continue
        for target in statement.targets:
            if isinstance(target, Name):
                made = _copy(statement.value, updates.get(id(statement.value)), instances, code, evaluator)
                found.setdefault(target.id, []).append(made)
    return {name: made[0] for name, made in found.items() if len(made) == 1 and made[0] and made[0].original != name}


def _copy(
    value: Expr, update: Replace | None, instances: LocalInstances, code: CodeRead, evaluator: Evaluator
) -> _Copy | None:
    if update is not None:
        cls = update.receiver.cls
        original = None if update.base is None else dotted(update.base)
        is_framework = update.function == cls.framework.replace_method and cls.has_framework_replace
        if original is None or update.call.has_star:
            return None
        if update.by is not None and not update.beside:
            changed = fields_set(update, (), evaluator)
            return None if changed is None or _remakes(cls) else _Copy(original, changed, cls)
        if not (is_framework or update.function in REPLACE_FUNCTIONS):
            return None
        given = frozenset(k.name for k in update.keywords)
        return None if _remakes(cls) else _Copy(original, given, cls, update.call.at)
    if isinstance(value, Call) and len(value.args) == 1:
        name = evaluator.model.resolver.library_name(value.func, code.place.module, code.scope)
        original, held = dotted(value.args[0].value), instances.instance(value.args[0].value)
        if name in _COPIES and original is not None and held is not None:
            if held.cls.method("__copy__") is None:
                return _Copy(original, frozenset(), held.cls)
    return None


def _remakes(cls: PytreeClass) -> bool:
    """Whether the constructor may make new containers of what it is given."""
    return cls.has_own_construction or any(field.is_converted for field in cls.fields)


def _read_of(expr: Expr, place: Slot, ignoring: frozenset[int] = frozenset()) -> Expr | None:
    """The original, or its field, in an expression; other fields of it do not matter, nor what some updates copy.

    Nor do other items of a field of which one is changed: `info["t"]` says nothing of `info["first"]`.
    """
    if id(expr) in ignoring:
        return None
    path = f"{place.root}.{place.path[0]}"
    if isinstance(expr, Subscript) and dotted(expr.value) == path and len(place.path) > 1:
        item = slot_of(expr)
        if item is not None and not may_be(item.path[-1], place.path[1]):
            return None
    name = dotted(expr)
    if name is not None:
        return expr if name == place.root or name == path or name.startswith(f"{path}.") else None
    return next((found for child in children(expr) if (found := _read_of(child, place, ignoring)) is not None), None)


def _read_by(
    original: str,
    changed: tuple[str, ...],
    at: object,
    code: CodeRead,
    evaluator: Evaluator,
    ignoring: frozenset[int] = frozenset(),
) -> str | None:
    """Who reads what was changed of the original, in words: nothing for the body itself; None for nobody."""
    name = _read_after(original, changed, at, code.body, ignoring)
    if name is not None:
        return "" if name == original else f" as `{name}`"
    return _reading_caller(original, changed, code, evaluator)


def _read_after(
    path: str, changed: tuple[str, ...], at: object, body: Body, ignoring: frozenset[int] = frozenset()
) -> str | None:
    """The name by which a part of what the path stands for at some place is read after that; None if by none."""
    for name in sorted(sharing_at(path, at, body).same, key=lambda name: (name != path, name)):
        read = ReadAfter(name, partial(_read_of, place=Slot(name, changed), ignoring=ignoring))
        if read.of(at, body) is not None:
            return name
    return None


def _reading_caller(original: str, changed: tuple[str, ...], code: CodeRead, evaluator: Evaluator) -> str | None:
    """Who gives the original to this function, and still uses it and its field afterwards, in words."""
    function, module = code.function, code.place.module
    if function is None or original in code.contents.bound:
        return None
    if all(p.name != original or p.kind != "positional" for p in function.parameters):
        return None
    homes, owner = (module, *evaluator.model.importers(module)), code.place.owner if function.owner else None
    calls = (
        calls_of_method(function, owner, homes, evaluator) if owner else calls_of(function, module, homes, evaluator)
    )
    for called in calls:
        given, caller = called.given.get(original), called.caller
        path = None if given is None else dotted(given)
        if path is None:
            continue
        body = _body_around(called, evaluator)
        call = called.call if caller is not None else _call_at(called.call.at, body)
        if call is None:
            continue
        if _is_repeated(call, path, body) or _read_after(path, changed, call.at, body) is not None:
            return f" in module `{called.module.name}`" if caller is None else f" by `{caller.name}`"
    return None


def _body_around(called: Called, evaluator: Evaluator) -> Body:
    """The statements among which a call stands: those of a function, or of a module."""
    if called.caller is None:
        return evaluator.calls.top_level(called.module)
    body = evaluator.calls.body_of(FunctionSymbol(called.module, called.caller))
    if body is None:  # a function that only returns something is not read from another module
        return tuple(Return(value.at, value) for value in called.caller.return_values)
    return body


def _call_at(at: object, body: Body) -> Call | None:
    """The call in a body that stands where the outline of the module says that there is one."""
    place = place_of(at)
    return next((p for p in all_parts(body, nested=False) if isinstance(p, Call) and place_of(p.at) == place), None)


def _is_repeated(call: Call, path: str, body: Body) -> bool:
    """Whether a comprehension makes a call with the same path for each of its items."""
    for around in all_parts(body, nested=False):
        if isinstance(around, Comprehension) and any(part is call for part in parts(around.element)):
            own = {name for clause in around.clauses for name in target_names(clause.target)}
            return path.partition(".")[0] not in own
    return False


@proposing
def _own(copy: _Copy, field: str, held: Value) -> Proposal | None:
    """The fix: the copy is given a copy of what the field of the original holds."""
    value = plain(held)
    shared = f"{copy.original}.{field}"
    match value:
        case Container(kind="dict" | "list" | "set" as kind):
            own = f"{kind}({shared})"
        case Array(library="numpy"):
            own = f"{shared}.copy()"
        case _:
            return None
    if copy.at is None:
        return None
    change = EditCall(copy.at, given=((field, own),))
    return Proposal(f"Give the copy its own `{field}`", Applicability.UNSAFE, (change,))


def _given_before(event: MutateField, slot: Slot, by: str) -> Problem:
    way_out = f"give the copy its own `{event.field}`"
    return Problem(
        at=event.at,
        message=(
            f"`{event.field}` of the `{event.receiver.cls.name}` in `{slot.root}` is changed in place, and the returned"
            f" copy shares it: the original changes, too, and is read afterwards{by}; {way_out}"
        ),
        reason="an updated copy shares what its other fields hold with the original",
        help=way_out,
    )


def _problem(at: object, cls: PytreeClass, field: str, copy: str, original: str, by: str) -> Problem:
    way_out = f"give the copy its own `{field}`"
    return Problem(
        at=at,
        message=(
            f"`{field}` of the `{cls.name}` in `{copy}` is the same object as in `{original}`, which changes,"
            f" too, and is read afterwards{by}; {way_out}"
        ),
        reason="an updated copy shares what its other fields hold with the original",
        help=way_out,
    )
