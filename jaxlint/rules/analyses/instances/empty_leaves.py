"""The leaves that layers of equinox are made without (`use_bias=False`), which are None in the instance."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Instance, plain
from jaxlint.pytrees.frameworks.equinox import EMPTY_WITHOUT, LAYERS
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.syntax.expressions import Call, Constant, Display, Expr

#: So many instances may stand in one another in a tree that is looked through.
_MAX_DEPTH = 4


def empty_leaves(cls: PytreeClass, evaluator: Evaluator, depth: int = 0) -> int:
    """How many layers at least, in an instance of a class and those in it, are made without one of their leaves."""
    count = 0
    for field in cls.leaves or ():
        held = plain(evaluator.promises.field(field, cls))
        layers = _layers_without(field, cls, evaluator)
        if layers:
            count += layers
        elif isinstance(held, Instance) and held.cls.is_pytree and depth < _MAX_DEPTH:
            count += empty_leaves(held.cls, evaluator, depth + 1)
    return count


def is_made_without(attr: str, field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether methods of a class put nothing into a field but layers of equinox without a leaf, or lists of such."""
    made = cls.assigned.get(field.name, [])
    return bool(made) and all(one is not None and _all_without(attr, one.expr, one, evaluator) for one in made)


def _all_without(attr: str, expr: Expr, made: Placed, evaluator: Evaluator) -> bool:
    if isinstance(expr, Display):
        return bool(expr.items) and all(_all_without(attr, item, made, evaluator) for item in expr.items)
    return _is_without(attr, expr, made, evaluator)


def _layers_without(field: Field, cls: PytreeClass, evaluator: Evaluator) -> int:
    """How many layers without a leaf a field holds at least, whatever method has set it."""
    counts = [0 if made is None else _count(made.expr, made, evaluator) for made in cls.assigned.get(field.name, [])]
    return min(counts, default=0)


def _count(expr: Expr, made: Placed, evaluator: Evaluator) -> int:
    if isinstance(expr, Display):
        return sum(_count(item, made, evaluator) for item in expr.items)
    return int(any(_is_without(attr, expr, made, evaluator) for attr in EMPTY_WITHOUT))


def _is_without(attr: str, expr: Expr, made: Placed, evaluator: Evaluator) -> bool:
    """Whether a layer of equinox is made without its leaf of that name."""
    if not isinstance(expr, Call):
        return False
    option = expr.keyword(EMPTY_WITHOUT[attr])
    name = evaluator.model.resolver.library_name(expr.func, made.module, made.scope) or ""
    return isinstance(option, Constant) and option.value is False and name.startswith(LAYERS)
