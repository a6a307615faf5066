"""Statements behind which nothing runs: also calls of what ends the program, or of a function that always raises."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, Name, last_name
from jaxlint.syntax.statements import Assert, Body, Do, Jump, Raise, Return, Statement, walk

#: What does not come back, by its last name, of whatever library.
_FINAL = frozenset("exit _exit quit abort fail fatal die assert_never unreachable".split())
_RAISING = "raise"
#: How a function says so.
_NEVER = frozenset({"NoReturn", "Never"})
#: How many functions that call each other are followed.
_DEEP = 2


def is_end(
    statement: Statement, module: Module, scope: str, evaluator: Evaluator, cls: PytreeClass | None, deep: int = _DEEP
) -> bool:
    """Whether nothing behind a statement runs, in a function of a module, or a method of `cls`."""
    match statement:
        case Raise() | Jump() | Return() | Assert(test=Constant(kind="bool", value=False)):
            return True
        case Do(value=Call(func=func)):
            return _never_returns(func, module, scope, evaluator, cls, deep)
    return False


def _never_returns(
    func: Expr, module: Module, scope: str, evaluator: Evaluator, cls: PytreeClass | None, deep: int
) -> bool:
    """Whether a call of what an expression names does not come back, as far as can be seen."""
    resolver = evaluator.model.resolver
    symbol = resolver.follow(resolver.resolve(func, module, scope))
    if not isinstance(symbol, FunctionSymbol) and isinstance(func, Attribute) and cls is not None:
        found = cls.method(func.attr) if isinstance(func.value, Name) else None
        symbol = symbol if found is None else FunctionSymbol(found[0].module, found[1])
    if not isinstance(symbol, FunctionSymbol):
        name = last_name(func)
        return name in _FINAL or name.startswith(_RAISING)
    if not deep:
        return False
    function = symbol.declaration
    if function.returns is not None and last_name(function.returns) in _NEVER:
        return True
    if function.return_values or function.is_async or function.is_generator:
        return False
    body = evaluator.calls.body_of(symbol)
    return function.checks if body is None else _all_raise(body, symbol, evaluator, cls, deep - 1)


def _all_raise(body: Body, symbol: FunctionSymbol, evaluator: Evaluator, cls: PytreeClass | None, deep: int) -> bool:
    """Whether a body comes to an end that is no return: none stands in it."""
    inside = walk(body, nested=False)
    if any(isinstance(statement, Return) for statement in inside):
        return False
    scope = symbol.declaration.inner_scope
    return any(is_end(statement, symbol.module, scope, evaluator, cls, deep) for statement in body)
