"""The fix of a choice that Python cannot make by a traced value: jax makes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxlint.cst.changes import CallLogical, Change, ChooseByCall, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.bodies.around import functions_around
from jaxlint.rules.analyses.fixes.alike_values import AlikeValues
from jaxlint.rules.analyses.under_trace.static_uses import LOGICAL, TRUTH, Use
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Conditional, Expr, Name
from jaxlint.syntax.statements import Assign, Body, If, Return, Statement, all_parts, blocks, walk

_CHOOSING = "jax.lax.cond"
_OPERATORS = {how: operator for operator, how in LOGICAL.items()}


@proposing
def choosing_by_jax(use: Use, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix of an `if`, or of an operator of truth values, in the module that is read."""
    operator = _OPERATORS.get(use.how)
    if operator is None and use.how != TRUTH:
        return None
    if operator is None and not _may_choose(use, code.place.module, evaluator):
        return None
    place, resolver = code.place, evaluator.model.resolver
    written = spelled(f"jax.numpy.logical_{operator}" if operator else _CHOOSING, place.module, resolver, place.scope)
    if written is None:
        return None
    function, imports = written
    at = use.expr.at
    change: Change = CallLogical(at, operator, function) if operator else ChooseByCall(at, function)
    return Proposal(f"Use `{function}`", Applicability.UNSAFE, (change,), imports)


def _may_choose(use: Use, module: Module, evaluator: Evaluator) -> bool:
    """Whether the two values that a test chooses between may well have one structure and one type."""
    at = place_of(use.expr.at)
    around = functions_around(at, module)
    if not around:
        return False
    function = around[-1]
    body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
    found = [pair for test, *pair in _choices(body) if place_of(test.at).holds(at)]
    alike = AlikeValues(module, function.inner_scope, evaluator)
    return bool(found) and alike.may_be(*found[-1])


def _choices(body: Body) -> Iterator[tuple[Expr, Expr, Expr]]:
    """The tests of a body, with the two values that each chooses between; the inner ones behind those around them."""
    every = (body, *(block for statement in walk(body) for block in blocks(statement)))
    for block in every:
        for index, statement in enumerate(block):
            if isinstance(statement, If):
                test, chosen = statement.branches[-1]
                values = _values(chosen, statement.orelse, block[index + 1 :])
                if values is not None:
                    yield (test, *values)
    for part in all_parts(body):
        if isinstance(part, Conditional):
            yield part.test, part.body, part.orelse


def _values(body: Body, orelse: Body, behind: Sequence[Statement]) -> tuple[Expr, Expr] | None:
    """What the two branches of an `if` return, or assign to one variable."""
    first = body[0] if len(body) == 1 else None
    second = next(iter(orelse or behind), None)
    match first, second:
        case Return(value=one), Return(value=other) if one is not None and other is not None:
            return one, other
        case Assign(value=one), Assign(value=other) if orelse:
            return one, other
        case Assign(targets=(Name() as name,), value=one), _ if not orelse:
            return one, name
    return None
