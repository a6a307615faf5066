"""A loop over a few stages, each of which is long: `for temperature in (1.0, 0.5): for x in data: ...`."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.counting import FEW, counted_names
from jaxlint.project.resolution import ValueSymbol
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Display, Expr, Name, dotted, last_name
from jaxlint.syntax.statements import (
    Assign,
    For,
    While,
    all_parts,
    bound_names,
    bound_once,
    looked_up,
    parts,
    target_names,
    walk,
)

#: Functions that go through what they are given, one at a time.
_THROUGH = frozenset({"enumerate", "zip", "reversed", "sorted", "list", "tuple", "tqdm"})


def is_set_for_stage(at: object, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether what stands at a place is another one only at each turn of a loop over a few stages.

    Each of these has a loop of its own which holds that place, or takes what is bound there: that is worth a
    compilation. What an inner loop counts is another one at each turn of that.
    """
    place = place_of(at)
    loops = [s for s in code.statements if isinstance(s, (For, While))]
    around = [loop for loop in loops if place_of(loop.at).holds(place)]  # from the outermost one
    if not around:
        return False
    once = bound_once(code.body)
    names = {p.id for p in code.parts if isinstance(p, Name) and place.holds(place_of(p.at))}
    names |= {p.id for name in names if name in once for p in parts(once[name]) if isinstance(p, Name)}
    moving = next((loop for loop in reversed(around) if not names.isdisjoint(_moved_by(loop))), around[-1])
    if not isinstance(moving, For) or not _has_few(moving.iterable, code, evaluator):
        return False
    if moving is not around[-1]:
        return True
    binding = [s for s in moving.body if isinstance(s, Assign) and place_of(s.at).holds(place)]
    bound = {path for s in binding for path in (*bound_names(s), *map(dotted, s.targets))}
    inner = tuple(s for s in walk(moving.body, nested=False) if isinstance(s, (For, While)))
    return any(isinstance(part, (Name, Attribute)) and dotted(part) in bound for part in all_parts(inner))


def _moved_by(loop: For | While) -> set[str]:
    """The variables that a loop goes on with at each turn: its own, and what it counts."""
    return {*(target_names(loop.target) if isinstance(loop, For) else ()), *counted_names(loop.body)}


def _has_few(iterable: Expr, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a loop goes through a short list, written there or bound to a name: `range(4)` may count epochs."""
    expr = looked_up(iterable, bound_once(code.body))
    if isinstance(expr, Name):
        symbol = evaluator.model.resolver.resolve(expr, code.place.module, code.scope)
        held = symbol.assignment.value if isinstance(symbol, ValueSymbol) else None
        expr = expr if held is None else held
    match expr:
        case Display(items=items):
            return len(items) <= FEW
        case Call(func=func) if last_name(func) in _THROUGH:
            return any(_has_few(given, code, evaluator) for given in expr.positional)
    return False
