"""By which operation an expression makes another number of the one that a field holds, in a function that names it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from jaxlint.syntax.expressions import Attribute, Binary, Call, Constant, Expr, Name, dotted, is_number
from jaxlint.syntax.statements import Assign, Body, Do, Return, bound_names, parts, walk

#: Operations by which a number stays as it is, with the number that does that.
_NEUTRAL = {"+": 0, "-": 0, "*": 1, "/": 1, "**": 1}


def moving(expr: Expr, path: str, numbers: Collection[str], bound: Mapping[str, Expr]) -> str | None:
    """The operation by which an expression moves the number that `path` holds, within bounds: `max(x * 0.9, low)`.

    `numbers` are the names and attributes that may be the size of a step, `bound` the variables that are bound once,
    with their values.
    """
    if isinstance(expr, Name) and expr.id in bound:
        others = {name: value for name, value in bound.items() if name != expr.id}
        return moving(bound[expr.id], path, numbers, others)
    match expr:
        case Call(func=Name(id="max" | "min"), args=(first, second)) if not (first.keyword or second.keyword):
            for one, limit in ((first.value, second.value), (second.value, first.value)):
                if not _reads(limit, path, bound):
                    return moving(one, path, numbers, bound)
        case Binary(left=left, right=right, op=op):
            pairs = ((left, right), (right, left))
            if any(dotted(held) == path and _moves(op, by, numbers) for held, by in pairs):
                return op
    return None


def is_straight(body: Body) -> bool:
    """Whether a body binds variables, one after the other, and returns."""
    return bool(body) and isinstance(body[-1], Return) and all(isinstance(s, (Assign, Do)) for s in body[:-1])


def binds(body: Body, names: Collection[str]) -> bool:
    """Whether a statement of a body binds one of some names."""
    return any(name in names for statement in walk(body) for name in bound_names(statement))


def _reads(expr: Expr, path: str, bound: Mapping[str, Expr]) -> bool:
    """Whether an expression, or a variable in it, is computed from what `path` holds."""
    for part in parts(expr):
        if dotted(part) == path:
            return True
        if isinstance(part, Name) and part.id in bound:
            others = {name: value for name, value in bound.items() if name != part.id}
            if _reads(bound[part.id], path, others):
                return True
    return False


def _moves(op: str, other: Expr, numbers: Collection[str]) -> bool:
    """Whether a number becomes another one by an operation."""
    if isinstance(other, (Attribute, Name)):
        return dotted(other) in numbers
    return is_number(other) and isinstance(other, Constant) and other.value != _NEUTRAL.get(op)


def may_move(number: Expr) -> bool:
    """Whether an expression is a number that moves another one by any operation."""
    return isinstance(number, Constant) and is_number(number) and number.value not in _NEUTRAL.values()
