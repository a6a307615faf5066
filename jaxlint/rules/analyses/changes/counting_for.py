"""How much speaks for it that a change of what a compiled method reads is a change of what it computes."""

from __future__ import annotations

from collections.abc import Mapping

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.stale import reading
from jaxlint.rules.analyses.instances.methods import own_methods, run_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Binary, Compare, Expr, Subscript, Unary, dotted
from jaxlint.syntax.statements import all_parts

#: The comparisons of numbers: what is equal, or is one of some, may be the name of a way to compute.
_ORDER = frozenset({"<", "<=", ">", ">="})


def is_computed_with(attr: str, inside: Mapping[str, Function], cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether methods are seen to compute with the value of an attribute or with parts of it, or to return them.

    Of what they only call, or hand on, they may need what never changes: the structure of a model, a setting.
    """
    for function, path, body in reading(attr, inside, cls, evaluator):
        if any(_is_at(value, path) for value in function.return_values):
            return True
        for part in all_parts(body):
            match part:
                case Binary(left=left, right=right) if _is_at(left, path) or _is_at(right, path):
                    return True
                case Unary(operand=operand) if _is_at(operand, path):
                    return True
                case Compare(left=left, ops=ops, comparators=comparators) if _ORDER.issuperset(ops):
                    if any(_is_at(one, path) for one in (left, *comparators)):
                        return True
    return False


def is_changed_in_use(changing: Function, holder: str, cls: PytreeClass) -> bool:
    """Whether a method of the class both runs the one that changes something and calls what is kept in `holder`."""
    for ancestor in cls.mro:
        for method in own_methods(ancestor):
            run = run_by(method, cls)
            if changing.name in run and any(holder in f.self_reads | f.self_calls for f in run.values()):
                return True
    return False


def _is_at(expr: Expr, path: str) -> bool:
    """Whether an expression stands for what is at a path, or for an attribute or an item of it."""
    while dotted(expr) != path:
        if not isinstance(expr, (Attribute, Subscript)):
            return False
        expr = expr.value
    return True
