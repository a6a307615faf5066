"""The fix of a choice that Python cannot make by a traced value: jax makes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from jaxlint.cst.changes import CallLogical, Change, ChooseByCall, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.libraries.static_arguments import LOGICAL, TRUTH
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.bodies.around import functions_around
from jaxlint.rules.analyses.fields.needed_numbers import uses_of
from jaxlint.rules.analyses.fixes.chosen_values import BY_VALUES, ChosenValues
from jaxlint.rules.analyses.instances.methods import may_have
from jaxlint.rules.analyses.under_trace.static_uses import Use
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Conditional, Expr, Name, last_name, same
from jaxlint.syntax.statements import Assign, Body, If, Return, Statement, all_parts, blocks, walk

_GETTERS = frozenset({"property", "cached_property"})
_OPERATORS = {how: operator for operator, how in LOGICAL.items()}


class _Choice(msgspec.Struct, frozen=True):
    """A test, the two values between which it chooses, and the variable or the expression that one of them becomes."""

    test: Expr
    one: Expr
    other: Expr
    chosen: Expr | None = None


@proposing
def choosing_by_jax(use: Use, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix of an `if`, or of an operator of truth values, in the module that is read."""
    operator = _OPERATORS.get(use.how)
    if operator is None and use.how != TRUTH:
        return None
    place, resolver = code.place, evaluator.model.resolver
    name = f"jax.numpy.logical_{operator}" if operator else _chooser(use, place.module, evaluator)
    written = spelled(name, place.module, resolver, place.scope) if name else None
    if written is None:
        return None
    function, imports = written
    at = use.expr.at
    change: Change = CallLogical(at, operator, function) if operator else ChooseByCall(at, function, name == BY_VALUES)
    return Proposal(f"Use `{function}`", Applicability.UNSAFE, (change,), imports)


def _chooser(use: Use, module: Module, evaluator: Evaluator) -> str:
    """The function that may choose in the place of Python; empty if none may, or if Python needs what is chosen."""
    at = place_of(use.expr.at)
    around = functions_around(at, module)
    if not around:
        return ""
    function = around[-1]
    body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
    found = [choice for choice in _choices(body) if place_of(choice.test.at).holds(at)]
    if not found or _is_needed(found[-1].chosen, function, module, evaluator):
        return ""
    return ChosenValues(function, body, module, evaluator).chosen_by(found[-1].one, found[-1].other)


def _is_needed(chosen: Expr | None, function: Function, module: Module, evaluator: Evaluator) -> bool:
    """Whether Python has to know the number that is chosen: here, or where the function is called."""

    def is_chosen(expr: Expr) -> bool:
        return chosen is not None and (expr is chosen or (isinstance(chosen, Name) and same(expr, chosen)))

    def is_returned(expr: Expr) -> bool:
        held = expr.func if isinstance(expr, Call) else expr if is_property else None
        return isinstance(held, (Name, Attribute)) and last_name(held) == function.name

    is_property = not _GETTERS.isdisjoint(map(last_name, function.decorators))
    if any(uses_of(is_chosen, function, module, evaluator)):
        return True
    written = re.compile(rf"\b{re.escape(function.name)}\b")
    calling = [f for f in module.outline.functions.values() if f is not function and may_have(written, f, module)]
    return any(True for one in calling for _ in uses_of(is_returned, one, module, evaluator))


def _choices(body: Body) -> Iterator[_Choice]:
    """The choices in a body; the inner ones behind those around them."""
    every = (body, *(block for statement in walk(body) for block in blocks(statement)))
    for block in every:
        for index, statement in enumerate(block):
            if isinstance(statement, If):
                test, chosen = statement.branches[-1]
                values = _values(chosen, statement.orelse, block[index + 1 :])
                if values is not None:
                    yield _Choice(test, *values)
    for part in all_parts(body):
        if isinstance(part, Conditional):
            yield _Choice(part.test, part.body, part.orelse, part)


def _values(body: Body, orelse: Body, behind: Sequence[Statement]) -> tuple[Expr, Expr, Expr | None] | None:
    """What the two branches of an `if` return, or assign to one variable, and that variable."""
    first = body[0] if len(body) == 1 else None
    second = next(iter(orelse or behind), None)
    match first, second:
        case Return(value=one), Return(value=other) if one is not None and other is not None:
            return one, other, None
        case Assign(targets=(target,), value=one), Assign(value=other) if orelse:
            return one, other, target
        case Assign(targets=(Name() as name,), value=one), _ if not orelse:
            return one, name, name
    return None
