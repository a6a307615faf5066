"""Whether the callers of a transformed function look for what it changes in its argument, and find the old value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from jaxlint.infer.bodies.contents import contents_of
from jaxlint.infer.bodies.slots import Slot, changed_by, slot_of
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Place
from jaxlint.infer.known.values import FunctionValue
from jaxlint.infer.transforms.calling import calls_one_of
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol
from jaxlint.rules.analyses.bodies.read_after import ReadAfter
from jaxlint.rules.analyses.changes.given_changes import changes_of, given_for
from jaxlint.rules.analyses.changes.returning import compiled_names
from jaxlint.rules.analyses.instances.callees import callee_of
from jaxlint.rules.analyses.instances.passed import given_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, dotted, last_name
from jaxlint.syntax.statements import Body, For, While, all_parts, parts, walk


class _Caller(NamedTuple):
    """A function that calls another one in a loop."""

    module: Module
    scope: str
    body: Body
    #: The call, and the names by which such calls are told.
    call: Call
    names: set[str]


def is_missed(function: Function, changed: Sequence[Slot], place: Place, evaluator: Evaluator) -> bool:
    """Whether a caller gives one object to a function in a loop, and reads one of the changed attributes then.

    It stands in the module, or in one that imports it, and does not change the object itself.
    """
    root, below = changed[0].root, [slot.path for slot in changed]
    for home in (place.module, *evaluator.model.importers(place.module)):
        for caller in _callers(function, home, place.module, evaluator):
            given = given_by(caller.call, function).get(root)
            path = None if given is None else dotted(given)
            if path is None or _may_change(path, caller, evaluator):
                continue
            if ReadAfter(path, partial(_read_of, path=path, below=below)).of(caller.call.at, caller.body):
                return True
    return False


def _callers(function: Function, home: Module, module: Module, evaluator: Evaluator) -> Iterator[_Caller]:
    """The functions of one module that call a function of another, or of the same, in loops."""
    names = {function.name, *compiled_names(function.name, home)}
    if function.name not in home.source.text or any(
        f.name == function.name and f is not function for f in home.outline.functions.values()
    ):
        return
    for caller in home.outline.functions.values():
        symbol = FunctionSymbol(home, caller)
        is_calling = caller is not function and calls_one_of(names, symbol)
        body = evaluator.calls.body_of(symbol) if is_calling else None
        for call in _calls_in_loops(body or ()):
            if last_name(call.func) in names and body is not None:
                one = _Caller(home, caller.inner_scope, body, call, names)
                if home is module or _is_meant(function, one, evaluator):
                    yield one


def _is_meant(function: Function, caller: _Caller, evaluator: Evaluator) -> bool:
    """Whether a call in another module is one of a function: methods are told by their names alone."""
    func = caller.call.func
    written = func if last_name(func) == function.name else Name(func.at, function.name)
    symbol = evaluator.model.resolver.resolve(written, caller.module, caller.scope)
    return function.owner is not None or (isinstance(symbol, FunctionSymbol) and symbol.declaration is function)


def _may_change(path: str, caller: _Caller, evaluator: Evaluator) -> bool:
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


def _may_be_changed(path: str, call: Call, caller: _Caller, evaluator: Evaluator) -> bool:
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


def _calls_in_loops(body: Body) -> Iterator[Call]:
    """The calls that a body makes again and again."""
    for loop in walk(body, nested=False):
        if isinstance(loop, (For, While)):
            yield from (part for part in all_parts(loop.body, nested=False) if isinstance(part, Call))


def _read_of(expr: Expr, path: str, below: Sequence[tuple[str, ...]]) -> Expr | None:
    """What reads a part of what a path stands for."""
    root, *steps = path.split(".")
    wanted = [(*steps, *one) for one in below]
    for part in parts(expr):
        slot = slot_of(part) if isinstance(part, Attribute) else None
        if slot is not None and slot.root == root and any(slot.path[: len(one)] == one for one in wanted):
            return part
    return None
