"""Whether a function certainly does nothing but compute what it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from jaxlint.libraries import arrays
from jaxlint.libraries.transforms import TRANSFORMS, Kind
from jaxlint.libraries.updates import REPLACE_FUNCTIONS, UPDATE_FUNCTIONS, UPDATE_METHODS
from jaxlint.project.index import Key
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.symbols.outline import MUTATING
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, Lambda, Name, NamedExpr, items_of
from jaxlint.syntax.statements import Assign, Body, Do, FunctionDefinition, If, Return, Statement, all_parts, parts

#: Where the functions are declared that compute arrays and numbers.
_COMPUTING = ("jax.numpy.", "jax.lax.", "jax.nn.", "jax.random.", "math.", "operator.")
_BUILTINS = frozenset(
    "abs bool complex dict float int len list max min range round str sum super tuple type zip".split()
)
#: Methods that leave the array alone on which they are called; `state.apply_fn(...)` computes what a network says.
_METHODS = (frozenset({"apply_fn"}) | UPDATE_METHODS | arrays.ARRAY_METHODS | arrays.ARRAY_REDUCTIONS) - {
    "block_until_ready"
}
#: Of the expressions that are no calls, those that do something.
_ACTING = frozenset({"Await", "Yield", "YieldFrom"})
#: Through how many calls of one another functions are followed.
_DEEPEST = 4

#: Gives the statements of a function, or None if they cannot be read.
BodyOf: TypeAlias = Callable[[FunctionSymbol], "Body | None"]


class _Around(msgspec.Struct, frozen=True):
    """Where an expression stands, the functions inside that are known to have no effect, and those that call it."""

    module: Module
    scope: str
    functions: frozenset[str]
    callers: tuple[Key, ...]


class Effects:
    """Tells of functions whether they have effects; `body_of` reads one."""

    def __init__(self, model: PytreeModel, body_of: BodyOf) -> None:
        self.model = model
        self._body_of = body_of

    def has_none(self, symbol: FunctionSymbol) -> bool:
        """Whether a function certainly has no effect, whatever its decorators do; it may fail."""
        return self._called_has_none(symbol, ())

    def _called_has_none(self, symbol: FunctionSymbol, callers: tuple[Key, ...]) -> bool:
        body = self._body_of(symbol) if len(callers) < _DEEPEST and symbol.key not in callers else None
        if body is None or symbol.declaration.is_generator:
            return False
        around = _Around(symbol.module, symbol.declaration.inner_scope, frozenset(), (*callers, symbol.key))
        return self._has_none(body, around)

    def given_has_none(self, function: Expr, module: Module, scope: str) -> bool:
        """Whether a function that is given to another one, in `scope`, certainly has no effect."""
        if isinstance(function, Lambda):
            around = _Around(module, scope, frozenset(), ())
            return all(self._computes(part, around) for part in parts(function.body))
        symbol = self.model.resolver.resolve(function, module, scope)
        if isinstance(symbol, External):
            return self._is_computing(symbol.name)
        return isinstance(symbol, FunctionSymbol) and not symbol.declaration.decorators and self.has_none(symbol)

    def _has_none(self, body: Body, around: _Around) -> bool:
        inside = [s for s in body if isinstance(s, FunctionDefinition)]
        around = replace(around, functions=around.functions | {function.name for function in inside})
        for function in inside:
            scope = f"{around.scope}.{function.name}.<locals>"
            if function.decorators or not self._has_none(function.body, replace(around, scope=scope)):
                return False
        derivatives = {
            s.targets[0].id
            for s in body
            if isinstance(s, Assign) and isinstance(s.targets[0], Name) and self._is_derivative(s.value, around)
        }
        around = replace(around, functions=around.functions | derivatives)
        is_plain = all(map(self._is_plain, body))
        return is_plain and all(self._computes(part, around) for part in all_parts(body, nested=False))

    def _is_plain(self, statement: Statement) -> bool:
        match statement:
            case Return() | Do(value=Constant()) | FunctionDefinition():
                return True
            case Assign(targets=targets):
                items = (items_of(t) for t in targets)
                return all(isinstance(item, Name) for found in items for item in found)
            case If(branches=branches, orelse=orelse):
                inside = (s for _, body in (*branches, (None, orelse)) for s in body)
                return all(not isinstance(s, FunctionDefinition) and self._is_plain(s) for s in inside)
        return False

    def _is_derivative(self, expr: Expr, around: _Around) -> bool:
        """Whether an expression is the derivative of a lambda, or of a function inside that has no effect."""
        if not isinstance(expr, Call) or not expr.positional:
            return False
        symbol = self.model.resolver.resolve(expr.func, around.module, around.scope)
        transform = TRANSFORMS.get(symbol.name) if isinstance(symbol, External) else None
        given = expr.positional[0]
        is_seen = isinstance(given, Lambda) or (isinstance(given, Name) and given.id in around.functions)
        return transform is not None and transform.kind is Kind.GRAD and is_seen

    def _computes(self, expr: Expr, around: _Around) -> bool:
        """Whether an expression itself does nothing but compute a value."""
        if not isinstance(expr, Call):
            return not isinstance(expr, NamedExpr) and getattr(expr, "kind", "") not in _ACTING
        func = expr.func
        if self._is_derivative(expr, around) or self._is_derivative(func, around):
            return True
        if isinstance(func, Name) and func.id in around.functions:
            return True
        symbol = self.model.resolver.resolve(func, around.module, around.scope)
        if isinstance(symbol, External):
            return self._is_computing(symbol.name)
        if isinstance(symbol, FunctionSymbol):
            is_plain = self.model.updating_methods.only_compiles(symbol.declaration, symbol.module)
            return is_plain and self._called_has_none(symbol, around.callers)
        if isinstance(symbol, ClassSymbol):
            cls = self.model.build(symbol)
            return cls.is_pytree and not cls.has_own_construction
        match func:
            case Attribute(attr="__class__") | Call(func=Name(id="type")):
                return True
            case Attribute(attr=name):
                return name in _METHODS or arrays.is_at_update(func) or self._only_updates(name)
        return False

    def _only_updates(self, name: str) -> bool:
        """Whether all methods of that name that are seen return a copy with changes, as far as names tell.

        Where containers have one of that name, which changes them, or the optimizers of nnx, nothing is told.
        """
        index = self.model.project_index
        is_other = name in index.changing_method_names or name in MUTATING
        return name in index.updating_method_names and not is_other

    def _is_computing(self, name: str) -> bool:
        if name in TRANSFORMS or name.startswith(("numpy.random.", "numpy.testing.", "jax.numpy.save")):
            return False
        if name in REPLACE_FUNCTIONS or name in UPDATE_FUNCTIONS or arrays.returned_library(name) is not None:
            return True
        return name.startswith(_COMPUTING) or name.removeprefix("builtins.") in _BUILTINS
