"""The fix of a choice that Python cannot make by a traced value: jax makes it."""

from __future__ import annotations

from jaxlint.cst.changes import CallLogical, Change, ChooseByCall, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.rules.analyses.under_trace.static_uses import LOGICAL, TRUTH, Use

_CHOOSING = "jax.lax.cond"
_OPERATORS = {how: operator for operator, how in LOGICAL.items()}


@proposing
def choosing_by_jax(use: Use, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix of an `if`, or of an operator of truth values, in the module that is read."""
    operator = _OPERATORS.get(use.how)
    if operator is None and use.how != TRUTH:
        return None
    place, resolver = code.place, evaluator.model.resolver
    written = spelled(f"jax.numpy.logical_{operator}" if operator else _CHOOSING, place.module, resolver, place.scope)
    if written is None:
        return None
    function, imports = written
    at = use.expr.at
    change: Change = CallLogical(at, operator, function) if operator else ChooseByCall(at, function)
    return Proposal(f"Use `{function}`", Applicability.UNSAFE, (change,), imports)
