"""Whether what an expression makes of an array certainly has another shape than that array."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Constant,
    Display,
    Expr,
    Starred,
    Subscript,
    Unary,
    dotted,
    is_everything,
    is_none,
    is_slice,
)
from jaxlint.syntax.statements import Assign, Body, assigned_names, bound_once, looked_up, walk

#: Functions that join arrays along an axis: there is more in it than before, unless all others are empty.
_JOINING = frozenset({"concatenate", "vstack", "hstack", "dstack", "column_stack"})
#: Functions that add something to an array, or take something out of it.
_RESIZING = frozenset({"append", "insert", "delete"})
_LIBRARIES = frozenset({"jax.numpy", "numpy"})


def gets_other_shape(
    path: str, original: str | None, copy: str, body: Body, code: CodeRead, evaluator: Evaluator
) -> bool:
    """Whether what a block assigns to an attribute of a copy certainly has another shape than was there.

    The copy and the original have arrays of the same shapes, as long as nothing else is put there.
    """
    rest = path.partition(".")[2]
    names = {name for name in (original, copy) if name is not None}
    values = [s.value for s in walk(body) if isinstance(s, Assign) and path in map(dotted, s.targets)]
    if len(values) != 1 or not assigned_names(body).isdisjoint(name.partition(".")[0] for name in names):
        return False
    library_name = partial(evaluator.model.resolver.library_name, module=code.place.module, scope=code.scope)
    return _has_other_shape(values[0], frozenset(f"{name}.{rest}" for name in names), bound_once(body), library_name)


def _has_other_shape(
    expr: Expr, same: frozenset[str], bound: Mapping[str, Expr], library_name: Callable[[Expr], str]
) -> bool:
    """Whether an expression certainly has another shape than the array that some paths name.

    Joined to what may be empty it has not, but nobody would write that: the other one is taken for something.
    """
    expr = looked_up(expr, bound)
    if isinstance(expr, Subscript):
        return dotted(expr.value) in same and _picks(expr.index)
    if not isinstance(expr, Call) or expr.has_star or not expr.positional:
        return False
    library, _, name = library_name(expr.func).rpartition(".")
    if library not in _LIBRARIES:
        return False
    first = expr.positional[0]
    if name in _RESIZING:
        return len(expr.positional) > 1 and dotted(first) in same
    if name == "expand_dims":
        return dotted(first) in same
    first = looked_up(first, bound)
    if not isinstance(first, Display) or any(isinstance(item, Starred) for item in first.items):
        return False
    is_there = any(dotted(item) in same for item in first.items)
    return is_there and (name == "stack" or (name in _JOINING and len(first.items) > 1))


def _picks(index: Expr) -> bool:
    """Whether an index certainly gives another shape, of whatever array: `[None]`, `[1:]`, `[:-1]`, `[0]`."""
    items = index.items if isinstance(index, Display) and index.kind == "tuple" else (index,)
    others = [item for item in items if not _is_new_axis(item) and not is_everything(item)]
    if any(map(_is_new_axis, items)):
        return not others
    if any(_number(item) is not None for item in others):
        return all(_number(item) is not None or is_slice(item) for item in others)
    return bool(others) and all(map(is_slice, others)) and any(map(_cuts, others))


def _is_new_axis(item: Expr) -> bool:
    return is_none(item) or (isinstance(item, Attribute) and item.attr == "newaxis")


def _cuts(item: Expr) -> bool:
    """Whether a slice leaves something out at the beginning, or at the end: `1:`, `:-1`."""
    if not is_slice(item):
        return False
    lower, upper, step = item.parts
    begin, end = _number(lower), _number(upper)
    return is_none(step) and ((begin is not None and begin > 0) or (end is not None and end < 0))


def _number(expr: Expr) -> int | None:
    match expr:
        case Constant(kind="int", value=int() as value):
            return value
        case Unary(op="-", operand=Constant(kind="int", value=int() as value)):
            return -value
    return None
