"""A loop over a few stages, each of which is long: `for temperature in (1.0, 0.5): for x in data: ...`."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Place
from jaxlint.infer.known.counting import FEW, counted_names, is_few
from jaxlint.project.resolution import ValueSymbol
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Argument, Attribute, Call, Display, Expr, Name, dotted, last_name
from jaxlint.syntax.statements import (
    Assign,
    Body,
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


#: Words in names of what goes up by any number (static-counter/stages, filtered-scalar/stages_equinox).
_COUNTING = frozenset("step steps epoch epochs iteration iterations count counter".split())


def counts(name: str) -> bool:
    """Whether a name says that it counts."""
    return not _COUNTING.isdisjoint(name.lower().split("_"))


def is_set_for_stage(at: object, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether what stands at a place is another one only at each turn of a loop over a few stages.

    Each of these has a loop of its own which holds that place, or takes what is bound there: that is worth a
    compilation. What an inner loop counts is another one at each turn of that.
    """
    place = place_of(at)
    moving = moving_loop(at, code.body)
    if moving is None or not goes_through_few(moving[0], at, code.body, code.place, evaluator):
        return False
    loop, holds_another = moving
    if holds_another:
        return True
    binding = [s for s in loop.body if isinstance(s, Assign) and place_of(s.at).holds(place)]
    bound = {path for s in binding for path in (*bound_names(s), *map(dotted, s.targets))}
    inner = tuple(s for s in walk(loop.body, nested=False) if isinstance(s, (For, While)))
    return any(isinstance(part, (Name, Attribute)) and dotted(part) in bound for part in all_parts(inner))


def moving_loop(at: object, body: Body) -> tuple[For | While, bool] | None:
    """The loop at whose turns what stands at a place is another one, and whether another loop in it holds the place.

    It is the innermost one if none is seen to move it.
    """
    place = place_of(at)
    loops = [s for s in walk(body) if isinstance(s, (For, While))]
    around = [loop for loop in loops if place_of(loop.at).holds(place)]  # from the outermost one
    if not around:
        return None
    names = _names_at(at, body)
    moving = next((loop for loop in reversed(around) if not names.isdisjoint(_moved_by(loop))), around[-1])
    return moving, moving is not around[-1]


def goes_through_few(loop: For | While, at: object, body: Body, place: Place, evaluator: Evaluator) -> bool:
    """Whether a loop goes through a few stages that are written out: values, or numbers that are put at a place.

    `for epoch in range(4)` counts epochs, and `for _ in range(4)` goes on with what is there.
    """
    if not isinstance(loop, For):
        return False
    names = set(target_names(loop.target))
    is_put = not names.isdisjoint(_names_at(at, body)) and not any(map(counts, names))
    return _has_few(loop.iterable, body, place, evaluator, is_put=is_put)


def _names_at(at: object, body: Body) -> set[str]:
    """The variables at a place, and those that a body has computed them from."""
    place, once = place_of(at), bound_once(body)
    names = {p.id for p in all_parts(body) if isinstance(p, Name) and place.holds(place_of(p.at))}
    return names | {p.id for name in names if name in once for p in parts(once[name]) if isinstance(p, Name)}


def _moved_by(loop: For | While) -> set[str]:
    """The variables that a loop goes on with at each turn: its own, and what it counts."""
    return {*(target_names(loop.target) if isinstance(loop, For) else ()), *counted_names(loop.body)}


def _has_few(iterable: Expr, body: Body, place: Place, evaluator: Evaluator, *, is_put: bool) -> bool:
    """Whether a loop goes through a short list, written there or bound to a name, or through a few numbers it puts."""
    match _written(iterable, body, place, evaluator):
        case Display(items=items):
            return len(items) <= FEW
        case Call(func=Name(id="range"), args=args) if is_put:
            return bool(args) and all(_is_few(argument.value, body, place, evaluator) for argument in args)
        case Call(func=func) as call if last_name(func) in _THROUGH:
            return any(_has_few(given, body, place, evaluator, is_put=is_put) for given in call.positional)
    return False


def _is_few(number: Expr, body: Body, place: Place, evaluator: Evaluator) -> bool:
    """Whether a number is small that is written there or bound to a name, or the length of such a list."""
    match _written(number, body, place, evaluator):
        case Call(func=Name(id="len"), args=(Argument(value=held, star=""),)):
            return _has_few(held, body, place, evaluator, is_put=False)
        case found:
            return is_few(found)


def _written(expr: Expr, body: Body, place: Place, evaluator: Evaluator) -> Expr:
    """What a variable of a body or of a module is bound to, once; else the expression itself."""
    expr = looked_up(expr, bound_once(body))
    if not isinstance(expr, Name):
        return expr
    symbol = evaluator.model.resolver.resolve(expr, place.module, place.scope)
    held = symbol.assignment.value if isinstance(symbol, ValueSymbol) else None
    return expr if held is None else held
