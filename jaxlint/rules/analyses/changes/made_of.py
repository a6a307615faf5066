"""What makes another value of a whole original, and so takes the place of a copy of it that was updated before."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.libraries.trees import TREE_MAPS
from jaxlint.libraries.updates import TREE_AT, UPDATE_FUNCTIONS
from jaxlint.rules.analyses.under_trace.leaf_arithmetic import trees_computed_with
from jaxlint.syntax.expressions import Binary, Call, Expr, Unary, dotted, last_name

#: Functions that give values that depend on all those of the tree or array that is their argument at the position.
_PRODUCTS = {name: position for name, position in UPDATE_FUNCTIONS.items() if name != TREE_AT}
_LAST_NAMES = frozenset(name.rpartition(".")[2] for name in (*TREE_MAPS, *_PRODUCTS))


def made_of(value: Expr, original: str, code: CodeRead, evaluator: Evaluator) -> Expr | None:
    """Where an expression takes what it makes others of, if these are all the values of an original.

    It is arithmetic (`original * scale`), or goes over the leaves: `jax.tree.map(lambda x: x * scale, original)`,
    `optax.apply_updates(original, updates)`.
    """
    if not isinstance(value, Call):
        found = [one for one in _operands(value) if dotted(one) == original]
        return found[0] if len(found) == 1 else None
    if last_name(value.func) not in _LAST_NAMES or value.has_star:
        return None
    position = _PRODUCTS.get(evaluator.model.resolver.library_name(value.func, code.place.module, code.scope))
    given = value.positional[1:2] if position is None else value.positional[position : position + 1]
    if not given or dotted(given[0]) != original:
        return None
    mapped = trees_computed_with(value, code, evaluator, values=True) if position is None else given
    return given[0] if any(tree is given[0] for tree in mapped) else None


def _operands(expr: Expr) -> Iterator[Expr]:
    """What arithmetic computes with."""
    operands: tuple[Expr, ...]
    match expr:
        case Binary(left=left, right=right):
            operands = (left, right)
        case Unary(op="-" | "~", operand=operand):
            operands = (operand,)
        case _:
            return
    for one in operands:
        yield one
        yield from _operands(one)
