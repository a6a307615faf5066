"""The code around what happens somewhere."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Place
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.syntax.statements import Body


def body_around(place: Place, evaluator: Evaluator) -> Body:
    """The statements of the outermost function around a place; empty if there is none, or it cannot be read."""
    outermost = FunctionSymbol(place.module, place.functions[0]) if place.functions else None
    return () if outermost is None else evaluator.calls.body_of(outermost) or ()
