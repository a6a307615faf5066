"""Whether the callers of a transformed function look for what it changes in its argument, and find the old value."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from jaxlint.infer.bodies.contents import contents_of
from jaxlint.infer.bodies.slots import Slot, changed_by, slot_of
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Place
from jaxlint.infer.known.values import FunctionValue
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol
from jaxlint.rules.analyses.bodies.read_after import ReadAfter
from jaxlint.rules.analyses.changes.given_changes import changes_of, given_for
from jaxlint.rules.analyses.instances.callees import callee_of
from jaxlint.rules.analyses.instances.callers_in_loops import Caller, callers_in_loops
from jaxlint.rules.analyses.instances.passed import given_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Expr, dotted, last_name
from jaxlint.syntax.statements import parts, walk


def is_missed(function: Function, changed: Sequence[Slot], place: Place, evaluator: Evaluator) -> bool:
    """Whether a caller gives one object to a function in a loop, and reads one of the changed attributes then.

    It stands in the module, or in one that imports it, and does not change the object itself.
    """
    root, below = changed[0].root, [slot.path for slot in changed]
    outer = place.functions[-2] if len(place.functions) > 1 else None
    for home in (place.module, *evaluator.model.importers(place.module)):
        for caller in callers_in_loops(function, home, place.module, evaluator, outer):
            given = given_by(caller.call, function).get(root)
            path = None if given is None else dotted(given)
            if path is None or may_change(path, caller, evaluator):
                continue
            if ReadAfter(path, partial(_read_of, path=path, below=below)).of(caller.call.at, caller.body):
                return True
    return False


def may_change(path: str, caller: Caller, evaluator: Evaluator) -> bool:
    """Whether a caller may change what a path stands for by something else: then the function may be but a trial."""
    root, *steps = path.split(".")
    changed = (slot for statement in walk(caller.body, nested=False) for _, slot in changed_by(statement))
    if any(slot.root == root and list(slot.path[: len(steps)]) == steps for slot in changed):
        return True
    changing = evaluator.model.project_index.changing_method_names
    for call in contents_of(caller.body).of(Call):
        if last_name(call.func) in caller.names:
            continue
        if isinstance(call.func, Attribute) and call.func.attr in changing and dotted(call.func.value) == path:
            return True
        if any(dotted(argument.value) == path for argument in call.args) and _may_be_changed(
            path, call, caller, evaluator
        ):
            return True
    return False


def _may_be_changed(path: str, call: Call, caller: Caller, evaluator: Evaluator) -> bool:
    """Whether a function may change what it is given: libraries, constructors and compiled functions do not."""
    symbol = evaluator.model.resolver.resolve(call.func, caller.module, caller.scope)
    if not isinstance(symbol, FunctionSymbol):
        return not isinstance(symbol, (External, ClassSymbol))
    if evaluator.calls.transformed.of(symbol.declaration, symbol.module):
        return False
    callee = callee_of(FunctionValue(symbol), evaluator)
    if callee is None:
        return True
    given = (given_for(call, callee, change.slot) for change in changes_of(callee, evaluator))
    return any(one is not None and dotted(one[0]) == path for one in given)


def _read_of(expr: Expr, path: str, below: Sequence[tuple[str, ...]]) -> Expr | None:
    """What reads a part of what a path stands for."""
    root, *steps = path.split(".")
    wanted = [(*steps, *one) for one in below]
    for part in parts(expr):
        slot = slot_of(part) if isinstance(part, Attribute) else None
        if slot is not None and slot.root == root and any(slot.path[: len(one)] == one for one in wanted):
            return part
    return None
