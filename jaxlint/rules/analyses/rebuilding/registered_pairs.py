"""The classes that a body registers as pytrees, and the functions that take instances apart and make them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from msgspec.structs import replace

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.frameworks.jax_register import FLATTENING
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.rebuilding.flattening import Routine
from jaxlint.syntax.expressions import Expr, Lambda, dotted
from jaxlint.syntax.source import Source

#: The parameter for the function that takes instances apart, without and with keys.
_FLATTENING = ("flatten_func", "flatten_with_keys")


def registered_pairs(code: CodeRead, evaluator: Evaluator) -> Iterator[tuple[PytreeClass, Routine, Routine, str]]:
    """The classes that a body registers, with the two functions, and what the class is called there."""
    resolver, module = evaluator.model.resolver, code.place.module
    if not _registers(module.source):
        return
    for call in code.calls:
        with_keys = FLATTENING.get(resolver.library_name(call.func, module, code.scope))
        if with_keys is None or call.has_star:
            continue
        parameters = ("nodetype", _FLATTENING[with_keys], "unflatten_func")
        given = call.given_to(parameters)
        named = dotted(given.get("nodetype", call.func))
        cls = evaluator.model.class_of_symbol(resolver.resolve(given.get("nodetype", call.func), module, code.scope))
        first, second = (_routine(given.get(one), code, evaluator) for one in parameters[1:])
        if cls is None or named is None or not cls.bases_known or first is None or second is None:
            continue
        if len(first.parameters) == 1 and len(second.parameters) == 2:
            yield cls, replace(first, with_keys=with_keys), second, named


@lru_cache(maxsize=8)
def _registers(source: Source) -> bool:
    """Whether a text may register a class with functions."""
    return "register_pytree" in source.text


def _routine(expr: Expr | None, code: CodeRead, evaluator: Evaluator) -> Routine | None:
    """The function that an argument is; None if it cannot be seen."""
    if isinstance(expr, Lambda):
        return Routine.of_lambda(expr)
    symbol = None if expr is None else evaluator.model.resolver.resolve(expr, code.place.module, code.scope)
    if not isinstance(symbol, FunctionSymbol) or symbol.module is not code.place.module or symbol.declaration.owner:
        return None
    return None if symbol.declaration.decorators else Routine.of(symbol, evaluator)
