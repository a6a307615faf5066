"""The classes that a body registers as pytrees, and the functions that take instances apart and make them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.frameworks.jax_register import FLATTENING
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.rebuilding.flattening import Routine
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Expr, Lambda, Span, dotted
from jaxlint.syntax.source import Source

#: The parameter for the function that takes instances apart, without and with keys.
_FLATTENING = ("flatten_func", "flatten_with_keys")


class Registered(msgspec.Struct, frozen=True):
    """A class that a body registers, with the function that takes instances apart and the one that makes them."""

    cls: PytreeClass
    flattening: Routine
    making: Routine
    #: What the class is called where an instance is made.
    makers: set[str]
    #: Where the two stand in the call, if they do not stand in the same file.
    elsewhere: tuple[Span, Span] | None


class _Given(msgspec.Struct, frozen=True):
    """A function that is passed to a call, its place there, and its name for the class that is bound to it."""

    routine: Routine
    at: Span
    is_elsewhere: bool
    own: str | None = None


def registered_pairs(code: CodeRead, evaluator: Evaluator) -> Iterator[Registered]:
    """The classes that a body registers, with the two functions."""
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
        if len(first.routine.parameters) == 1 and len(second.routine.parameters) == 2:
            makers = {named, cls.name, second.own or named}
            elsewhere = (first.at, second.at) if first.is_elsewhere or second.is_elsewhere else None
            yield Registered(cls, replace(first.routine, with_keys=with_keys), second.routine, makers, elsewhere)


@lru_cache(maxsize=8)
def _registers(source: Source) -> bool:
    """Whether a text may register a class with functions."""
    return "register_pytree" in source.text


def _routine(expr: Expr | None, code: CodeRead, evaluator: Evaluator) -> _Given | None:
    """The function that an argument is, also a method that is read from its class; None if it cannot be seen."""
    if isinstance(expr, Lambda):
        return _Given(Routine.of_lambda(expr), place_of(expr.at), is_elsewhere=False)
    symbol = None if expr is None else evaluator.model.resolver.resolve(expr, code.place.module, code.scope)
    if expr is None or not isinstance(symbol, FunctionSymbol):
        return None
    function = symbol.declaration
    kinds = [dotted(decorator) for decorator in function.decorators]
    routine = Routine.of(symbol, evaluator)
    is_method = function.owner is not None
    if routine is None or kinds not in (([], ["classmethod"], ["staticmethod"]) if is_method else ([],)):
        return None
    own = None
    if kinds == ["classmethod"] and routine.parameters:
        own, routine = routine.parameters[0], replace(routine, parameters=routine.parameters[1:])
    return _Given(routine, place_of(expr.at), symbol.module is not code.place.module, own)
