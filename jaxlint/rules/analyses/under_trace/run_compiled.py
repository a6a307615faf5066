"""Which functions run inside of compiled ones, which call or differentiate them."""

from __future__ import annotations

from collections.abc import Callable

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.libraries.transforms import TRANSFORMS, Kind, Transform
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, Expr, Name
from jaxlint.syntax.statements import all_parts

#: How many functions that call each other are gone through.
_FAR = 3


def is_run_compiled(
    symbol: FunctionSymbol, compiles: Callable[[Transform], bool], evaluator: Evaluator, depth: int = 0
) -> bool:
    """Whether a function of the same module that is compiled, or run by one, calls a function or its gradient."""
    if depth == _FAR or symbol.declaration.owner is not None:
        return False
    module = symbol.module
    for caller in module.outline.functions.values():
        found = FunctionSymbol(module, caller)
        if caller is symbol.declaration or not _runs(found, symbol, evaluator):
            continue
        around: Function | None = caller
        while around is not None:
            if any(compiles(one.transform) for one in evaluator.calls.transformed.of(around, module)):
                return True
            around = module.outline.function_of(around.scope)
        if is_run_compiled(found, compiles, evaluator, depth + 1):
            return True
    return False


def _runs(caller: FunctionSymbol, symbol: FunctionSymbol, evaluator: Evaluator) -> bool:
    """Whether a function calls another one, or takes the gradient of it."""
    resolver, scope = evaluator.model.resolver, caller.declaration.inner_scope

    def is_meant(expr: Expr) -> bool:
        if not isinstance(expr, Name) or expr.id != symbol.declaration.name:
            return False
        found = resolver.resolve(expr, caller.module, scope)
        return isinstance(found, FunctionSymbol) and found.declaration is symbol.declaration

    for part in all_parts(evaluator.calls.body_of(caller) or ()):
        if isinstance(part, Call):
            if is_meant(part.func):
                return True
            if part.positional and is_meant(part.positional[0]):
                transform = TRANSFORMS.get(resolver.library_name(part.func, caller.module, scope))
                if transform is not None and transform.kind is Kind.GRAD:
                    return True
    return False
