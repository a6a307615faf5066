"""Functions that AutoGraph writes anew before they run: in them, arrays of jax take items (pennylane, catalyst)."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import Place
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.symbols.outline import Import
from jaxlint.syntax.expressions import Call, dotted
from jaxlint.syntax.statements import all_parts

_WORD = "autograph"


def may_be_rewritten(place: Place, evaluator: Evaluator) -> bool:
    """Whether the code around an event may be given to AutoGraph: its module imports that, or asks for it."""
    outline = place.module.outline
    if any(_WORD in name.lower() for _, name in outline.imported_modules):
        return True
    bindings = (b for bindings in outline.module_scope.bindings.values() for b in bindings)
    if any(isinstance(b, Import) and _WORD in (b.name or "").lower() for b in bindings):
        return True
    return any(map(_asks_for_it, _calls_around(place, evaluator)))


def _calls_around(place: Place, evaluator: Evaluator) -> Iterator[Call]:
    """The calls of the module outside of functions, the decorators around an event, and what those functions call."""
    yield from place.module.outline.module_calls
    for function in place.functions:
        yield from (decorator for decorator in function.decorators if isinstance(decorator, Call))
    if place.functions:
        body = evaluator.calls.body_of(FunctionSymbol(place.module, place.functions[0])) or ()
        yield from (part for part in all_parts(body) if isinstance(part, Call))


def _asks_for_it(call: Call) -> bool:
    """Whether a call is one of AutoGraph, or has it turned on."""
    return call.keyword(_WORD) is not None or _WORD in (dotted(call.func) or "").lower()
