"""Which trees a call of `jax.tree.map` computes with, so that a leaf which is no number cannot be among theirs."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import FunctionValue, LocalFunction, LocalFunctionValue
from jaxlint.libraries.arrays import OF_TRAITS, returned_library
from jaxlint.libraries.trees import TREE_MAPS
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.syntax.expressions import (
    Binary,
    BoolOp,
    Call,
    Comprehension,
    Conditional,
    Expr,
    Lambda,
    Name,
    Unary,
    children,
)
from jaxlint.syntax.statements import Assign, Body, FunctionDefinition, Return, expressions

#: What is not evaluated in any case.
_CONDITIONAL = (BoolOp, Conditional, Comprehension, Lambda)


def computed_trees(code: CodeRead, evaluator: Evaluator) -> Iterator[list[Expr]]:
    """The trees in each call of `jax.tree.map` of a body each leaf of which goes into an operator or an array."""
    for call in code.calls:
        yield trees_computed_with(call, code, evaluator)


def trees_computed_with(call: Call, code: CodeRead, evaluator: Evaluator, *, values: bool = False) -> list[Expr]:
    """The same of one call, which may be of any function; if `values` matter, shapes alone are not computed with."""
    trees = call.positional[1:]
    if not trees or call.has_star or len(call.positional) != len(call.args):
        return []
    resolver = evaluator.model.resolver
    if resolver.library_name(call.func, code.place.module, code.scope) not in TREE_MAPS:
        return []
    parameters, body, scope = _function(call.positional[0], code, evaluator)
    used = set(_computed_with(body, scope, code, evaluator, values))
    return [tree for name, tree in zip(parameters, trees, strict=False) if name in used]


def _function(expr: Expr, code: CodeRead, evaluator: Evaluator) -> tuple[tuple[str, ...], Body, str]:
    """The parameters and the statements of a function of the module, and the scope of its names."""
    if isinstance(expr, Lambda):
        return expr.params, (Return(expr.body.at, expr.body),), code.scope
    match LocalInstances.of(code, evaluator).value(expr) if isinstance(expr, Name) else None:
        case LocalFunctionValue(function=LocalFunction(node=Lambda(params=names, body=result)), applied=()):
            return names, (Return(result.at, result),), code.scope
        case LocalFunctionValue(
            function=LocalFunction(node=FunctionDefinition(body=body), declaration=declaration), applied=()
        ):
            pass
        case FunctionValue(symbol=symbol, receiver=None, applied=()) if symbol.module is code.place.module:
            declaration, body = symbol.declaration, evaluator.calls.body_of(symbol) or ()
        case _:
            return (), (), ""
    if declaration.decorators or declaration.is_generator or declaration.is_async:
        return (), (), ""
    names = tuple(declaration.positional)
    return names, body, declaration.inner_scope


def _computed_with(body: Body, scope: str, code: CodeRead, evaluator: Evaluator, values: bool) -> Iterator[str]:
    """The variables that the first statements of a function, which run in any case, use as numbers.

    If `values` matter, what only asks for their shapes is no such use: `jnp.zeros_like(x)`.
    """
    for statement in body:
        if not isinstance(statement, (Assign, Return)):
            return
        for part in (p for whole in expressions(statement) for p in _evaluated(whole)):
            match part:
                case Binary(left=left, right=right):
                    yield from (one.id for one in (left, right) if isinstance(one, Name))
                case Unary(op="-" | "+" | "~", operand=Name(id=name)):
                    yield name
                case Call(func=func) if part.positional and isinstance(part.positional[0], Name):
                    function = evaluator.model.resolver.library_name(func, code.place.module, scope)
                    is_array = function.startswith("jax.numpy.") and returned_library(function) is not None
                    if is_array and not (values and function.rpartition(".")[2] in OF_TRAITS):
                        yield part.positional[0].id
        if isinstance(statement, Assign):
            return


def _evaluated(expr: Expr) -> Iterator[Expr]:
    """An expression and its parts, but for those that may not be evaluated."""
    yield expr
    if not isinstance(expr, _CONDITIONAL):
        for part in children(expr):
            yield from _evaluated(part)
