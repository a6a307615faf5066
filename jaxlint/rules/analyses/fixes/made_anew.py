"""The fix of code that changes a list, set, dict or settings object in a static field: the field gets a new one."""

from __future__ import annotations

from msgspec.structs import replace

from jaxlint.cst.changes import AssignTo, Change, Proposal, Rewrite, UpdateField
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import MutateField
from jaxlint.infer.known.values import Container, Instance, plain
from jaxlint.rules.analyses.bodies.around import body_around
from jaxlint.rules.analyses.fixes.rebinding import binding, copy_written, is_own_variable
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, dotted
from jaxlint.syntax.statements import Do, targets_of, walk

#: What a method makes of the container `{held}` and its one argument, by the kind of container.
_MADE = {
    ("list", "append"): "[*{held}, {0}]",
    ("list", "extend"): "[*{held}, *{0}]",
    ("set", "add"): "{*{held}, {0}}",
    ("set", "discard"): "{held} - {{0}}",
    ("set", "update"): "{*{held}, *{0}}",
    ("dict", "update"): "{**{held}, **{0}}",
}


@proposing
def making_anew(event: MutateField, evaluator: Evaluator) -> Proposal | None:
    """The unsafe fix: the instance is bound to a copy with a new container, or settings object."""
    held = plain(event.held)
    if event.receiver_text is None or "." in event.receiver_text:
        return None
    if isinstance(held, Instance):
        return _settings(event, event.receiver_text, held, evaluator)
    return _container(event, event.receiver_text, held, evaluator) if isinstance(held, Container) else None


@proposing
def _settings(event: MutateField, root: str, held: Instance, evaluator: Evaluator) -> Proposal | None:
    """The fix where code assigns an attribute of a settings object that an instance holds."""
    place, path = event.place, f"{root}.{event.field}"
    statements = walk(body_around(place, evaluator), nested=False)
    targets = [one for s in statements for one in targets_of(s) if place_of(one.at) == place_of(event.at)]
    target = targets[0] if len(targets) == 1 else None
    if not isinstance(target, Attribute) or dotted(target.value) != path or event.receiver.cls.frozen is False:
        return None
    copied = copy_written(root, [event.field, target.attr], [event.receiver, held], place, evaluator)
    if copied is None or not is_own_variable(root, place):
        return None
    change = UpdateField(event.at, root, copied[0])
    fix = Proposal(f"Give `{path}` a new object", Applicability.UNSAFE, (change,), copied[1])
    return binding(fix, replace(change, is_returned=True), root, place, evaluator)


@proposing
def _container(event: MutateField, root: str, held: Container, evaluator: Evaluator) -> Proposal | None:
    """The fix of a method whose call stands alone."""
    place = event.place
    path = f"{root}.{event.field}"
    call = _call(path, event, evaluator)
    made = None if call is None else _made(path, held.kind, event.how, call)
    if call is None or made is None:
        return None
    title = f"Give `{path}` a new {held.kind}"
    if event.receiver.cls.frozen is False:
        return Proposal(title, Applicability.UNSAFE, (Rewrite(call.at, *made), AssignTo(call.at, path)))
    copied = copy_written(root, [event.field], [event.receiver], place, evaluator)
    if copied is None or not is_own_variable(root, place):
        return None
    change = AssignTo(call.at, root)
    fix = Proposal(title, Applicability.UNSAFE, (change,), copied[1])
    bound = binding(fix, replace(change, is_returned=True), root, place, evaluator)
    template, parts = made
    return _with(Rewrite(call.at, copied[0].replace("{value}", template), parts), bound)


def _call(path: str, event: MutateField, evaluator: Evaluator) -> Call | None:
    """The call of the method, if it stands alone."""
    for statement in walk(body_around(event.place, evaluator), nested=False):
        call = statement.value if isinstance(statement, Do) else None
        if isinstance(call, Call) and isinstance(call.func, Attribute) and call.func.attr == event.how:
            if dotted(call.func.value) == path and place_of(call.at).holds(place_of(event.at)):
                return call
    return None


def _made(path: str, kind: str, how: str, call: Call) -> tuple[str, tuple[object, ...]] | None:
    """The template of the new container, and its parts."""
    if call.has_star:
        return None
    if (kind, how) == ("dict", "update") and not call.positional:
        given = ", ".join(f'"{argument.keyword}": {{{number}}}' for number, argument in enumerate(call.args))
        return f"{{**{path}, {given}}}", tuple(argument.value.at for argument in call.args)
    template = _MADE.get((kind, how))
    if template is None or len(call.args) != 1 or not call.positional:
        return None
    return template.replace("{held}", path), (call.positional[0].at,)


@proposing
def _with(change: Change, fix: Proposal | None) -> Proposal | None:
    """A fix, and what it proposes otherwise, with another change."""
    return fix and replace(fix, changes=(change, *fix.changes), otherwise=_with(change, fix.otherwise))
