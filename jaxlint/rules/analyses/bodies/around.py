"""The code around what happens somewhere."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Place
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Span
from jaxlint.syntax.statements import Body


def body_around(place: Place, evaluator: Evaluator) -> Body:
    """The statements of the function, or of the module, that a place is in."""
    if place.function is None:
        return evaluator.calls.top_level(place.module)
    return evaluator.calls.body_of(FunctionSymbol(place.module, place.function)) or ()


def outermost_body(place: Place, evaluator: Evaluator) -> Body:
    """The statements of the outermost function around a place; empty if there is none, or it cannot be read."""
    outermost = FunctionSymbol(place.module, place.functions[0]) if place.functions else None
    return () if outermost is None else evaluator.calls.body_of(outermost) or ()


def functions_around(at: Span, module: Module) -> list[Function]:
    """The functions of a module whose bodies hold a row, from the outermost to the innermost."""
    holding = [f for f in module.outline.functions.values() if f.body_rows[0] <= at.row <= f.body_rows[1]]
    return sorted(holding, key=lambda function: function.body_rows[0])
