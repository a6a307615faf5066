"""Whether a function only computes with a parameter, so that an array does as well as a Python number."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.libraries import arrays
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.syntax.expressions import (
    Binary,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Display,
    Expr,
    Name,
    Subscript,
    Unary,
    children,
    last_name,
)
from jaxlint.syntax.statements import Assert, For, If, Match, Statement, While, expressions, walk

_ARITHMETIC = frozenset({"+", "-", "*", "/", "**"})
#: What asks Python for a number, or which one it is.
_ASKING = frozenset("range int float bool str repr format len min max round isinstance type hash print".split())
_TAKE_NUMBERS = frozenset({"jax.random.fold_in", "jax.numpy.where"})


def only_computes_with(parameter: str, function: FunctionSymbol, evaluator: Evaluator, *, is_float: bool) -> bool:
    """Whether a function only computes with a parameter: it is no shape, no index, no number of turns, and no test.

    What is given on to another function may be one there, unless it is a float.
    """
    body = evaluator.calls.body_of(function)
    if body is None:
        return False
    scope = function.declaration.inner_scope
    return all(
        _Uses(parameter, function, scope, evaluator, is_float).are_free(expr, statement)
        for statement in walk(body, nested=True)
        for expr in expressions(statement)
    )


class _Around(msgspec.Struct, frozen=True):
    """Where an expression stands."""

    #: Whether Python asks for its value.
    asks: bool
    #: Whether something computes with it, so that it may stand there alone.
    computes: bool
    #: Whether it is certainly no integer, so that it is no size whatever is done with it.
    is_real: bool
    #: Whether it goes into a function that may take it for a size.
    is_given: bool = False


class _Uses:
    """Looks at what expressions do with a parameter."""

    def __init__(
        self, parameter: str, function: FunctionSymbol, scope: str, evaluator: Evaluator, is_float: bool
    ) -> None:
        self._parameter = parameter
        self._function = function
        self._scope = scope
        self._evaluator = evaluator
        self._is_float = is_float

    def are_free(self, expr: Expr, statement: Statement) -> bool:
        """Whether nothing in an expression of a statement needs to know which number the parameter is."""
        asks = isinstance(statement, (If, While, Assert, For, Match))
        return self._check(expr, _Around(asks, self._is_float, is_real=self._is_float))

    def _check(self, expr: Expr, around: _Around) -> bool:
        """Whether the parameter may be an array in an expression; where it stands alone something must compute."""
        asked, alone = replace(around, asks=True), replace(around, computes=around.is_real)
        match expr:
            case Name(id=name):
                is_size = around.is_given and not around.is_real
                return name != self._parameter or (around.computes and not around.asks and not is_size)
            case Binary(op=op, left=left, right=right) if op in _ARITHMETIC:
                sides = (left, right)
                is_real = around.is_real or op == "/" or any(getattr(one, "kind", "") == "float" for one in sides)
                repeats = any(isinstance(one, Display) for one in sides)
                inside = _Around(around.asks or repeats, True, is_real=is_real, is_given=around.is_given)
                return all(self._check(one, inside) for one in sides)
            case Unary(op="-" | "+", operand=operand):
                return self._check(operand, around)
            case Compare() | BoolOp():
                alone = asked
            case Subscript(value=held, index=index):
                return self._check(held, alone) and self._check(index, asked)
            case Conditional(test=test, body=body, orelse=orelse):
                return self._check(test, asked) and all(self._check(one, around) for one in (body, orelse))
            case Comprehension(clauses=clauses, element=element):
                inside_clauses = [one for clause in clauses for one in (clause.iterable, *clause.conditions)]
                return self._check(element, around) and all(self._check(one, asked) for one in inside_clauses)
            case Call(func=func, args=args):
                return self._check(func, asked) and all(
                    self._check(a.value, self._given_to(func, around)) for a in args
                )
        return all(self._check(part, alone) for part in children(expr))

    def _given_to(self, func: Expr, around: _Around) -> _Around:
        """What holds of the arguments of a function."""
        if self._takes_numbers(func):
            return replace(around, computes=True, is_given=False)
        if last_name(func) in _ASKING:
            return replace(around, asks=True)
        return replace(around, computes=around.is_real, is_given=True)

    def _takes_numbers(self, func: Expr) -> bool:
        """Whether a function of jax computes with the numbers that it is given, whatever they are."""
        module = self._function.module
        name = self._evaluator.model.resolver.library_name(func, module, self._scope)
        return arrays.is_elementwise(name) or arrays.is_conversion(name) or name in _TAKE_NUMBERS
