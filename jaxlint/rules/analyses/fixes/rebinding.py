"""Fixes that bind a variable to an updated copy."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from jaxlint.cst.changes import AssignTo, BeginBody, InsertLine, NeededImport, Proposal, SetItem, UpdateField
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, AssignItem, Discard, MutateField, Place
from jaxlint.infer.known.values import Container, Instance, plain
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.updating import update_function, update_template
from jaxlint.rules.analyses.bodies.around import body_around
from jaxlint.rules.analyses.changes.returning import is_only_returned, returning, taking
from jaxlint.rules.analyses.fixes.copies import is_copied
from jaxlint.rules.analyses.fixes.held import (
    ANYTIME,
    are_dropped,
    are_dropped_elsewhere,
    is_lost,
    is_read_later,
    is_returned_alias,
)
from jaxlint.rules.analyses.fixes.in_row import assigned_in_row
from jaxlint.rules.analyses.fixes.keeping import callers_go_on, is_held_elsewhere
from jaxlint.rules.analyses.fixes.none_given import may_be_none
from jaxlint.rules.analyses.fixes.origins import is_item_to_assign, origin_of
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, Name, dotted
from jaxlint.syntax.statements import Do, own_parts, targets_of, walk

#: The ways of assigning for which a copy can be made instead.
_ASSIGNED = frozenset({"assign", "augment", "setattr", "unpack", "loop", "with"})


@proposing
def rebinding(event: AssignAttribute, evaluator: Evaluator) -> Proposal | None:
    """The fix of an assignment that is refused: what may be assigned before it is bound to a copy with the new value.

    That is the variable, or an attribute on the way: `trainer.state` of `trainer.state.step = 1`.
    """
    if event.receiver_text is None and event.how in ("assign", "augment") and not event.alternatives:
        return _setting_in_place(event, evaluator)
    alone = _rebinding(event, (), evaluator)
    row = assigned_in_row(event, evaluator) if alone is not None else ()
    together = _rebinding(event, row, evaluator) if row else None
    return alone if together is None or alone is None else together.or_else(alone)


@proposing
def _rebinding(event: AssignAttribute, row: Sequence[Attribute], evaluator: Evaluator) -> Proposal | None:
    """The fix of an assignment, or of all those in the same `row`, which go into one copy."""
    base = event.receiver_text
    if base is None or event.how not in _ASSIGNED or any(o.cls is not event.receiver.cls for o in event.alternatives):
        return None
    root, *path = [*base.split("."), event.attr]
    instances = [*reversed(event.holders), event.receiver]
    if len(instances) < len(path):
        return None  # nobody knows what holds it
    depth = _assignable(path, instances)
    if not depth and not is_own_variable(root, event.place):
        return _binding_around(root, path, instances, event, row, evaluator)
    bound = ".".join([root, *path[:depth]])
    copied = copy_written(bound, path[depth:], instances[depth:], event.place, evaluator, row)
    if copied is None:
        return None
    change = _updating(event, bound, copied[0], row)
    if depth:
        return _putting_into(bound, instances[depth - 1], Applicability.SAFE, change, copied[1], evaluator)
    return _binding(change, _applicability(root, event.place), copied[1], event.place, evaluator)


@proposing
def _putting_into(
    attribute: str,
    holder: Instance | None,
    applicability: Applicability,
    change: UpdateField,
    imports: tuple[NeededImport, ...],
    evaluator: Evaluator,
) -> Proposal | None:
    """The fix that puts an updated copy into an attribute that its class assigns, unless others hold what is there."""
    if holder is not None and is_held_elsewhere(holder.cls, attribute.rpartition(".")[2], evaluator):
        return None
    return Proposal(f"Put an updated copy into `{attribute}`", applicability, (change,), imports)


def _updating(event: AssignAttribute, base: str, template: str, row: Sequence[Attribute]) -> UpdateField:
    """The change of an assignment, or of those in a row."""
    first, *others = [one.at for one in row] or [event.at]
    return UpdateField(first, base, template, also=tuple(others))


@proposing
def _binding_around(
    root: str,
    path: Sequence[str],
    instances: Sequence[Instance | None],
    event: AssignAttribute,
    row: Sequence[Attribute],
    evaluator: Evaluator,
) -> Proposal | None:
    """The fix that binds a variable of what is around a function, which has to declare it."""
    place, function = event.place, event.place.function
    declared = None if function is None else _outer_declaration(root, place)
    if function is None or declared is None or evaluator.calls.transformed.of(function, place.module):
        return None  # what is compiled would leave a tracer there
    if not _is_only_target(event, evaluator):
        return None  # nobody knows what the variable is once it is bound, for the other targets
    outer = replace(place, functions=place.functions[:-1])
    if declared.startswith("global"):
        outer = replace(place, functions=())
    elif root not in place.module.outline.scopes[outer.scope].bindings:
        return None
    if is_lost(root, ANYTIME, outer, evaluator):
        return None
    copied = copy_written(root, path, instances, place, evaluator, row)
    if copied is None:
        return None
    updating = replace(_updating(event, root, copied[0], row), is_returned=True)
    changes = (BeginBody(function.at, declared), updating)
    return Proposal(f"Bind `{root}` to an updated copy", Applicability.UNSAFE, changes, copied[1])


def _is_only_target(event: AssignAttribute, evaluator: Evaluator) -> bool:
    """Whether a statement assigns to the attribute, and to nothing else."""
    span = place_of(event.at)
    targets = (targets_of(s) for s in walk(body_around(event.place, evaluator), nested=False))
    return any(len(some) == 1 and place_of(some[0].at) == span for some in targets) or event.how == "setattr"


def _applicability(root: str, place: Place) -> Applicability:
    """Whether a variable certainly is what it is taken for: callers that are not seen may give a parameter another."""
    function = place.function
    if function is None or root == function.self_name:
        return Applicability.SAFE
    is_bare = any(p.name == root and p.annotation is None for p in function.parameters)
    return Applicability.UNSAFE if is_bare else Applicability.SAFE


def _assignable(path: Sequence[str], instances: Sequence[Instance | None]) -> int:
    """The length of the longest path to an attribute that its class assigns, too; 0 if there is none.

    The instances are what the path starts from, and what it leads to, but for its end.
    """
    for depth in range(len(path) - 1, 0, -1):
        holder = instances[depth - 1]
        if holder is not None and holder.cls.frozen is False and path[depth - 1] in holder.cls.assigned:
            return depth
    return 0


@proposing
def setting_item(event: AssignItem, applicability: Applicability, evaluator: Evaluator) -> Proposal | None:
    """The fix of an item of a jax array that is assigned: the array, or what holds it, is bound to an updated copy."""
    array, place, owner = dotted(event.target), event.place, event.owner
    if array is None or event.how not in ("item", "augment"):
        return None
    root, *path = array.split(".")
    if not path:
        change = UpdateField(event.at, array, "{value}", array)
        return _binding(change, applicability, (), place, evaluator) if is_own_variable(array, place) else None
    if owner is not None and (owner.cls.frozen is False or not owner.cls.is_pytree or event.mutable_copy):
        return _putting_into(array, owner, applicability, UpdateField(event.at, array, "{value}", array), (), evaluator)
    instances = [*reversed(event.holders), owner]
    if owner is None or len(instances) < len(path):
        return None
    depth = _assignable(path, instances)
    if not depth and not is_own_variable(root, place):
        return None
    bound = ".".join([root, *path[:depth]])
    copied = copy_written(bound, path[depth:], instances[depth:], place, evaluator)
    if copied is None:
        return None
    change = UpdateField(event.at, bound, copied[0], array)
    if depth:
        return _putting_into(bound, instances[depth - 1], applicability, change, copied[1], evaluator)
    return _binding(change, applicability, copied[1], place, evaluator)


@proposing
def putting_into_holder(event: Discard, base: str, evaluator: Evaluator) -> Proposal | None:
    """The unsafe fix of an update of what a frozen instance holds: the instance is bound to a copy that has it."""
    root, *path = base.split(".")
    place, instances = event.update.place, [*reversed(event.holders)]
    if len(instances) != len(path) or any(one is None or one.cls.frozen is not True for one in instances):
        return None
    copied = copy_written(root, path, instances, place, evaluator) if is_own_variable(root, place) else None
    if copied is None:
        return None
    change = AssignTo(event.at, root, template=copied[0])
    fix = Proposal(f"Bind `{root}` to an updated copy", Applicability.UNSAFE, (change,), copied[1])
    return binding(fix, replace(change, is_returned=True), root, place, evaluator)


@proposing
def setting_field(event: AssignItem, instance: Instance, evaluator: Evaluator) -> Proposal | None:
    """The fix of a field that is assigned as if it were an item: the instance is bound to an updated copy."""
    base, index, place = dotted(event.target), event.index, event.place
    field = index.value if isinstance(index, Constant) else None
    if base is None or not base.isidentifier() or event.how != "item" or not isinstance(field, str):
        return None
    if not is_own_variable(base, place) or instance.cls.frozen is False:
        return None
    copied = copy_written(base, [field], [instance], place, evaluator)
    if copied is None:
        return None
    return _binding(UpdateField(event.at, base, copied[0]), Applicability.SAFE, copied[1], place, evaluator)


@proposing
def setting_dict(event: MutateField, evaluator: Evaluator) -> Proposal | None:
    """The fix of an item of a dict in a static field that is assigned: the field gets a new dict."""
    root, held = event.receiver_text, plain(event.held)
    is_dict = isinstance(held, Container) and held.kind == "dict"
    if root is None or not is_dict or event.how not in ("item", "augment"):
        return None
    path = f"{root}.{event.field}"
    title = f"Give `{path}` a new dict"
    if event.receiver.cls.frozen is False:
        return Proposal(title, Applicability.UNSAFE, (SetItem(event.at, path, "{value}", path),))
    method = event.place.method
    if "." in root or not is_own_variable(root, event.place) or (method is not None and root == method.self_name):
        return None
    copied = copy_written(root, [event.field], [event.receiver], event.place, evaluator)
    if copied is None:
        return None
    change = SetItem(event.at, root, copied[0], path)
    again = replace(change, is_returned=True)
    returned = returning(again, root, event.place, evaluator, copied[1])
    if is_lost(root, event.at, event.place, evaluator):
        return _putting_back(again, root, event.place, evaluator, copied[1]) or returned
    return Proposal(title, Applicability.UNSAFE, (change,), copied[1], returned)


@proposing
def _binding(
    change: UpdateField,
    applicability: Applicability,
    imports: tuple[NeededImport, ...],
    place: Place,
    evaluator: Evaluator,
) -> Proposal | None:
    """The fix that binds a variable to an updated copy, and returns it where nobody would see it."""
    title = f"Bind `{change.base}` to an updated copy"
    fix = Proposal(title, applicability, (change,), imports)
    return binding(fix, replace(change, is_returned=True), change.base, place, evaluator)


@proposing
def binding(
    fix: Proposal,
    change: UpdateField | AssignTo,
    name: str,
    place: Place,
    evaluator: Evaluator,
    *,
    is_array_update: bool = False,
) -> Proposal | None:
    """A fix that binds a variable to a copy, if nobody goes on with the original.

    Else the copy, which is made by `change`, is put back, or returned and taken by callers; None if that cannot be.
    What an `is_array_update`, such as `a.at[0].set(1)`, was taken from need not hold its result.
    """
    returned = returning(change, name, place, evaluator, fix.imports)
    function, method = place.function, place.method
    if method is not None and name == method.self_name:
        if function is not method or not is_only_returned(name, method):
            return returned
        fix = fix.as_unsafe()
    is_item = isinstance(change, UpdateField) and change.template == "{value}"
    if is_lost(name, change.at, place, evaluator, is_array=is_item):
        if _goes_on_alone(change, name, place, evaluator):
            if is_array_update or _returns_own_copy(place):
                return fix.as_unsafe()
            if is_item:
                return None
        return _putting_back(change, name, place, evaluator, fix.imports) or returned
    if name in place.module.outline.scopes[place.scope].is_global:
        if is_lost(name, ANYTIME, replace(place, functions=()), evaluator, is_array=is_item):
            return None
    if are_dropped_elsewhere(name, place, evaluator):
        return None
    if function is not None and callers_go_on(function, name, place.module, evaluator):
        fix = fix.as_unsafe()  # they may mean to keep the older one, or not
    if function is not None and are_dropped(name, function, place.module):
        return taking(change, name, place, fix.imports)
    return replace(fix, otherwise=returned)


def _goes_on_alone(change: UpdateField | AssignTo, name: str, place: Place, evaluator: Evaluator) -> bool:
    """Whether a method takes an attribute of `self`, and goes on with its variable: `q = self.start; q[0] = ...`.

    An update of an array that was discarded never changed the attribute; whether its item should, nobody knows.
    """
    origin = origin_of(name, change.at, place, evaluator)
    if origin is None or not _is_of_self(origin.path, place):
        return False
    return is_read_later(name, change.at, place, evaluator)


def _is_of_self(path: str, place: Place) -> bool:
    """Whether something is taken from an attribute of the object whose method is read."""
    return place.method is not None and path.startswith(f"{place.method.self_name}.")


def _returns_own_copy(place: Place) -> bool:
    """Whether a method of a pytree returns another instance, so that its own stays what it was."""
    function, owner = place.function, place.owner
    return function is not None and owner is not None and owner.is_pytree and function.may_return_copy


@proposing
def _putting_back(
    change: UpdateField | AssignTo | SetItem,
    name: str,
    place: Place,
    evaluator: Evaluator,
    imports: tuple[NeededImport, ...] = (),
) -> Proposal | None:
    """The fix that puts the copy in a variable back where the original came from."""
    origin = origin_of(name, change.at, place, evaluator)
    if origin is None or (_returns_own_copy(place) and _is_of_self(origin.path, place)):
        return None
    back = InsertLine(change.at, f"{origin.path} = {name}", is_behind=True)
    title = f"Put an updated copy back into `{origin.path}`"
    return Proposal(title, Applicability.UNSAFE, (change, back, *origin.changes), imports)


@proposing
def _setting_in_place(event: AssignAttribute, evaluator: Evaluator) -> Proposal | None:
    """The fix of an attribute of an item of a list or dict: an updated copy takes its place."""
    place, span = event.place, place_of(event.at)
    targets = (t for s in walk(body_around(place, evaluator), nested=False) for t in targets_of(s))
    target = next((t for t in targets if isinstance(t, Attribute) and place_of(t.at) == span), None)
    if target is None or not is_item_to_assign(target.value, event.at, place, evaluator):
        return None
    item = place.module.source.segment(*place_of(target.value.at))
    copied = copy_written(item, [event.attr], [event.receiver], place, evaluator) if "\n" not in item else None
    if copied is None:
        return None
    change = UpdateField(event.at, item, copied[0], is_returned=True)
    return Proposal(f"Put an updated copy into `{item}`", Applicability.UNSAFE, (change,), copied[1])


def copy_written(
    root: str,
    path: Sequence[str],
    instances: Sequence[Instance | None],
    place: Place,
    evaluator: Evaluator,
    row: Sequence[Attribute] = (),
) -> tuple[str, tuple[NeededImport, ...]] | None:
    """How a copy of `root` with another value at the end of a path is made, and the imports that it needs.

    The instances are `root` and what it holds on the way. The attributes of a `row` are set instead of the last one.
    """
    template, needed = "{value}", dict[NeededImport, None]()
    fields = [one.attr for one in row] or list(path[-1:])
    last = instances[-1]
    is_empty = last is not None and any(may_be_none(last.cls, field, place, evaluator) for field in fields)
    for depth, (attr, instance) in reversed(list(enumerate(zip(path, instances, strict=True)))):
        if instance is None or not is_copied(instance.cls, attr):
            return None
        function = update_function(instance.cls, attr)
        if not function.startswith("."):
            written = spelled(function, place.module, evaluator.model.resolver, place.scope)
            if written is None:
                return None
            function, imports = written
            needed |= dict.fromkeys(imports)
        base = ".".join([root, *path[:depth]])
        holder = instances[depth - 1] if depth else None
        above = "" if holder is None else update_function(holder.cls, path[depth - 1])
        if function.endswith("tree_at") and above.endswith("tree_at"):
            fields = [f"{path[depth - 1]}.{field}" for field in fields]
            continue  # it reaches a leaf of what is held by it, too
        update = update_template(function, *fields, is_empty=is_empty).replace("{base}", base)
        template = update if template == "{value}" else update.replace("{value}", template)
        fields, is_empty = list(path[depth - 1 : depth]), False
    return template, tuple(needed)


@proposing
def taking_result(fix: Proposal | None, call: Call, base: Expr, place: Place, evaluator: Evaluator) -> Proposal | None:
    """The fix of a call that raises and would make a copy of `base` once it is mended, which somebody has to take.

    Where the call stands alone, the variable is bound to the copy, too: what fails loudly must not fail silently.
    """
    if fix is None or not _stands_alone(call, place, evaluator):
        return fix
    name = dotted(base)
    if name is None or "." in name or not is_own_variable(name, place):
        return None
    changes = (*fix.changes, AssignTo(call.at, name))
    return replace(fix, changes=changes, applicability=Applicability.UNSAFE)


def _stands_alone(call: Call, place: Place, evaluator: Evaluator) -> bool:
    """Whether a call is a statement of its own; outside of functions, whether its lines hold nothing else."""
    span = place_of(call.at)
    if place.function is not None:
        body = evaluator.calls.body_of(FunctionSymbol(place.module, place.function)) or ()
        return any(place_of(s.value.at) == span for s in walk(body) if isinstance(s, Do))
    source = place.module.source
    around = source.line(span.row)[: span.column] + source.line(span.end_row)[span.end_column :].partition("#")[0]
    return not around.strip()


def rebinding_help(name: str, update: str, at: object, place: Place, evaluator: Evaluator) -> str:
    """Where an updated copy of what a dotted name stands for has to go, so that somebody sees it."""
    if place.method is not None and name == place.method.self_name:
        return f"return `{update}` and let the caller rebind it"
    holder = name.rpartition(".")[0]
    if holder:
        return f"put `{update}` back into `{holder}`"
    function = place.function
    if function is not None and not is_own_variable(name, place):
        declared = _outer_declaration(name, place)
        back = _back_help(name, f"`{update}`", is_used=False)
        return f"declare `{declared}` and use `{name} = {update}`" if declared else back
    if name in place.module.outline.scopes[place.scope].is_global:
        return f"use `{name} = {update}`"
    if lost := lost_help(name, f"`{update}`", at, place, evaluator):
        return f"use `{name} = {update}`" if is_returned_alias(name, at, place, evaluator) else lost
    if function is not None and not function.return_values:
        if function.takes(name):
            return f"return `{update}` and let the caller rebind it"
        if not _is_used_behind(name, at, FunctionSymbol(place.module, function), evaluator):
            return _back_help(name, f"`{update}`", is_used=False)
    return f"use `{name} = {update}`"


def lost_help(name: str, made: str, at: object, place: Place, evaluator: Evaluator) -> str:
    """Where a copy has to go if others hold what the variable holds that it is made of; empty if nobody does."""
    if not is_lost(name, at, place, evaluator):
        return ""
    function = place.function
    if function is not None and function.takes(name):
        return f"return {made} and let the caller rebind it"
    symbol = None if function is None else FunctionSymbol(place.module, function)
    return _back_help(name, made, is_used=symbol is not None and _is_used_behind(name, at, symbol, evaluator))


def _back_help(name: str, made: str, *, is_used: bool) -> str:
    if is_used:
        return f"bind `{name}` to {made}, and put that back into what it was taken from"
    return f"put {made} back into what `{name}` was taken from"


def _is_used_behind(name: str, at: object, function: FunctionSymbol, evaluator: Evaluator) -> bool:
    """Whether a statement of a function that stands behind a place has a variable in it; yes if nobody knows."""
    body, row = evaluator.calls.body_of(function), place_of(at).end_row
    if body is None:
        return True
    behind = (part for statement in walk(body) if statement.at.lineno > row for part in own_parts(statement))
    return any(isinstance(part, Name) and part.id == name for part in behind)


def is_own_variable(name: str, place: Place) -> bool:
    """Whether a variable belongs to the code at a place, so that it may be assigned there."""
    scope = place.module.outline.scopes.get(place.scope)
    return scope is not None and (name in scope.bindings or name in scope.is_global)


def _outer_declaration(name: str, place: Place) -> str | None:
    """The statement below which code at a place may assign a variable of what is around it; None if there is none."""
    scopes = place.module.outline.scopes
    scope = scopes.get(place.scope)
    while scope is not None and name not in scope.bindings:
        scope = None if scope.parent is None else scopes[scope.parent]
    if scope is None or scope.kind == "class":
        return None
    return f"global {name}" if scope.kind == "module" else f"nonlocal {name}"
