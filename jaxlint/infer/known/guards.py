"""Functions of the project that tell the instances of a class from all else, as a type checker understands them."""

from __future__ import annotations

from typing import NamedTuple

from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, Expr, Name, Subscript, dotted, last_name

#: The annotations of a result that is true for instances of a type: of those alone, or of all of them as well.
_ONE_WAY, _BOTH_WAYS = "TypeGuard", "TypeIs"


class TypeGuard(NamedTuple):
    """What a function asks of its only argument, and where that is written."""

    asked: Expr
    module: Module
    scope: str
    #: Whether what it denies is no instance.
    is_strict: bool


def type_guard(symbol: FunctionSymbol) -> TypeGuard | None:
    """What a function tells of its only parameter: by `return isinstance(it, State)`, or by its annotation.

    `-> TypeGuard[State]` says nothing of what is denied, `TypeIs[State]` does (PEP 647 and PEP 742).
    """
    function = symbol.declaration
    if len(function.parameters) != 1 or function.decorators or function.is_async or function.is_generator:
        return None
    asked = _by_body(function, symbol.module)
    if asked is not None:
        return TypeGuard(asked, symbol.module, function.inner_scope, True)
    said = function.returns
    if isinstance(said, Subscript) and last_name(said.value) in (_ONE_WAY, _BOTH_WAYS):
        return TypeGuard(said.index, symbol.module, function.scope, last_name(said.value) == _BOTH_WAYS)
    return None


def _by_body(function: Function, module: Module) -> Expr | None:
    """What `isinstance` is asked by a body that does nothing else."""
    bound = module.outline.scopes[function.inner_scope].bindings.values()
    if not function.only_returns or len(function.return_values) != 1 or sum(map(len, bound)) != 1:
        return None
    match function.return_values[0]:
        case Call(func=func, positional=(Name(id=name), tested)) if dotted(func) == "isinstance":
            return tested if name == function.parameters[0].name else None
    return None
