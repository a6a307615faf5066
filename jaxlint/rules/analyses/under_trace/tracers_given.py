"""Tracers that a transformed function puts into a static field of an instance which it returns."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Construct, KeywordValue, Replace
from jaxlint.infer.known.values import UNKNOWN
from jaxlint.infer.transforms.applied import abstracting, rebuilt_parameters
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.under_trace.compiled_callers import Numbers, bare, is_returned
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Call, Expr
from jaxlint.syntax.statements import all_parts


def as_written(value: KeywordValue, call: Call) -> Expr | None:
    """What is given for a field, as it is written."""
    return next((a.value for a in call.args if a.at is value.at and not a.star), None)


def hands_out_tracer(
    event: Construct | Replace, value: KeywordValue, field: Field, cls: PytreeClass, evaluator: Evaluator
) -> bool:
    """Whether a transformed function computes a value from its bare parameters, and returns the instance: JAX208."""
    place, function, expr = event.place, event.place.function, as_written(value, event.call)
    applied = abstracting(place.applied(function)) if function is not None else []
    if function is None or expr is None or not applied:
        return False
    body = evaluator.calls.body_of(FunctionSymbol(place.module, function)) or ()
    traced = bare(function, dict.fromkeys(rebuilt_parameters(function, applied), UNKNOWN))
    if not Numbers(traced, body, {}).are_put(expr, field, cls, evaluator):
        return False
    at = place_of(event.call.at)
    here = next((p for p in all_parts(body) if isinstance(p, Call) and place_of(p.at) == at), event.call)
    return is_returned(here, body, {field.name}, (place.module, place.scope), evaluator)
