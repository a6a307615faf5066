"""Whether the callers of a transformed function look for what it changes in its argument, and find the old value."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from jaxlint.infer.bodies.slots import Slot, slot_of
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Place
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.bodies.read_after import ReadAfter
from jaxlint.rules.analyses.changes.returning import compiled_names
from jaxlint.rules.analyses.instances.passed import given_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Expr, dotted, last_name
from jaxlint.syntax.statements import Body, For, While, all_parts, parts, walk


def is_missed(function: Function, changed: Slot, place: Place, evaluator: Evaluator) -> bool:
    """Whether a caller in the module gives one object to a function in a loop, and reads the changed attribute then."""
    names = {function.name, *compiled_names(function.name, place.module)}
    if any(f.name == function.name and f is not function for f in place.module.outline.functions.values()):
        return False
    for caller in place.module.outline.functions.values():
        body = evaluator.calls.body_of(FunctionSymbol(place.module, caller)) if caller is not function else None
        for call in _calls_in_loops(body or ()):
            given = given_by(call, function).get(changed.root) if last_name(call.func) in names else None
            path = None if given is None else dotted(given)
            if path is not None and ReadAfter(path, partial(_read_of, path=path, below=changed.path)).of(
                call.at, body or ()
            ):
                return True
    return False


def _calls_in_loops(body: Body) -> Iterator[Call]:
    """The calls that a body makes again and again."""
    for loop in walk(body, nested=False):
        if isinstance(loop, (For, While)):
            yield from (part for part in all_parts(loop.body, nested=False) if isinstance(part, Call))


def _read_of(expr: Expr, path: str, below: tuple[str, ...]) -> Expr | None:
    """What reads a part of what a path stands for."""
    root, *steps = path.split(".")
    wanted = (*steps, *below)
    for part in parts(expr):
        slot = slot_of(part) if isinstance(part, Attribute) else None
        if slot is not None and slot.root == root and slot.path[: len(wanted)] == wanted:
            return part
    return None
