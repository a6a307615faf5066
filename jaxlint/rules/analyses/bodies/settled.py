"""Expressions that stand for one value that is written down: a literal, the name of one, or a member of an enum."""

from __future__ import annotations

from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, Resolver, ValueSymbol
from jaxlint.symbols.outline import Assignment, Class
from jaxlint.syntax.expressions import Attribute, Constant, DictDisplay, Display, Expr, Name, same

#: Enums whose members equal nothing but themselves.
_ENUMS = frozenset({"enum.Enum", "enum.Flag"})


def settled(expr: Expr, resolver: Resolver, module: Module, scope: str) -> Expr:
    """The literal that an expression stands for, wherever it is written; another expression is returned as it is.

    A member of an enum becomes a constant whose kind is the enum.
    """
    if not isinstance(expr, (Name, Attribute)):
        return expr
    symbol = resolver.resolve(expr, module, scope)
    if not isinstance(symbol, ValueSymbol):
        return expr
    enum = symbol.module.outline.classes.get(symbol.scope)
    value = symbol.assignment.value
    if enum is not None and isinstance(expr, Attribute):
        if not _is_enum(enum, symbol.module, resolver):
            return expr
        return Constant(expr.at, f"{enum.name}.{_member(symbol)}", f"{symbol.module.name}.{enum.qualname}")
    return Constant(expr.at, value.value, value.kind) if isinstance(value, Constant) and is_fixed(symbol) else expr


def written_out(expr: Expr, resolver: Resolver, module: Module, scope: str) -> Expr:
    """The same; of a constant that is a display, that display (a dict of the module itself, whose names are known)."""
    found = settled(expr, resolver, module, scope)
    symbol = resolver.resolve(expr, module, scope) if found is expr and isinstance(expr, (Name, Attribute)) else None
    value = symbol.assignment.value if isinstance(symbol, ValueSymbol) and is_fixed(symbol) else None
    is_own = isinstance(symbol, ValueSymbol) and symbol.module is module
    return value if isinstance(value, Display) or (isinstance(value, DictDisplay) and is_own) else found


def is_fixed(symbol: ValueSymbol) -> bool:
    """Whether a variable is a constant of a module, which is bound once."""
    return not symbol.scope and len(symbol.module.outline.module_scope.bindings[symbol.name]) == 1


def _member(symbol: ValueSymbol) -> str:
    """The name of a member of an enum: the first one of those that have the same literal."""
    bindings = symbol.module.outline.scopes[symbol.scope].bindings
    for name, bound in bindings.items():
        value = bound[0].value if isinstance(bound[0], Assignment) else None
        if isinstance(value, Constant) and symbol.assignment.value is not None and same(value, symbol.assignment.value):
            return name
    return symbol.name


def _is_enum(declaration: Class, module: Module, resolver: Resolver) -> bool:
    if len(declaration.bases) != 1 or "__eq__" in declaration.methods:
        return False
    symbol = resolver.resolve(declaration.bases[0].value, module, declaration.scope)
    return isinstance(symbol, External) and symbol.name in _ENUMS
