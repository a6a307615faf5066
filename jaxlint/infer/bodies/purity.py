"""Whether a function certainly does nothing but compute what it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from jaxlint.libraries import arrays
from jaxlint.libraries.transforms import TRANSFORMS, Kind
from jaxlint.libraries.trees import TREE_MAPS
from jaxlint.libraries.updates import REPLACE_FUNCTIONS, UPDATE_FUNCTIONS, UPDATE_METHODS
from jaxlint.project.index import Key
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import MUTATING
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Constant,
    Display,
    Expr,
    Lambda,
    Name,
    NamedExpr,
    is_number,
    items_of,
)
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Augment,
    Body,
    Do,
    For,
    FunctionDefinition,
    If,
    Jump,
    Return,
    Statement,
    While,
    all_parts,
    bound_names,
    parts,
    walk,
)

#: Where the functions are declared that compute arrays and numbers.
_COMPUTING = ("jax.numpy.", "jax.lax.", "jax.nn.", "jax.random.", "math.", "operator.")
_BUILTINS = frozenset(
    """abs all any bool complex dict enumerate float int isinstance len list max min range reversed round sorted str sum
    super tuple type zip""".split()
)
#: Methods that leave the array alone on which they are called; `state.apply_fn(...)` computes what a network says.
_METHODS = (frozenset({"apply_fn"}) | UPDATE_METHODS | arrays.ARRAY_METHODS | arrays.ARRAY_REDUCTIONS) - {
    "block_until_ready"
}
#: Of the expressions that are no calls, those that do something.
_ACTING = frozenset({"Await", "Yield", "YieldFrom"})
#: What transformations return that do what the function does, and nothing besides.
_AS_GIVEN = frozenset({Kind.GRAD, Kind.MAP, Kind.CHECKPOINT})
#: What goes through what can be gone through again.
_GONE_THROUGH = frozenset({"range", "reversed"})
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
        body, around = self._within(symbol, callers)
        return body is not None and not symbol.declaration.is_generator and self._has_none(body, around)

    def _within(self, symbol: FunctionSymbol, callers: tuple[Key, ...]) -> tuple[Body | None, _Around]:
        """The statements of a function that others call, if it is not too deep to look at them."""
        body = self._body_of(symbol) if len(callers) < _DEEPEST and symbol.key not in callers else None
        return body, _Around(symbol.module, symbol.declaration.inner_scope, frozenset(), (*callers, symbol.key))

    def making_has_none(self, cls: PytreeClass) -> bool:
        """Whether the constructor of a class certainly has no effect but to store what it computes."""
        return self._makes(cls, ())

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
        made = {
            s.targets[0].id
            for s in body
            if isinstance(s, Assign) and isinstance(s.targets[0], Name) and self._is_transformed(s.value, around)
        }
        around = replace(around, functions=around.functions | made)
        is_plain = all(self._is_plain(s, body) for s in body)
        return is_plain and all(self._computes(part, around) for part in all_parts(body, nested=False))

    def _is_plain(self, statement: Statement, body: Body) -> bool:
        """Whether a statement of a body, or below one, does nothing but to bind variables and to choose the next."""
        match statement:
            case Return() | Do(value=Constant()) | FunctionDefinition() | Jump():
                return True
            case Assign(targets=targets):
                items = (items_of(t) for t in targets)
                return all(isinstance(item, Name) for found in items for item in found)
            case Annotate(target=target):
                return isinstance(target, Name)
            case Augment(target=Name(id=name)):
                return _counts(name, body)  # of a list, the operator changes what others have
            case If(branches=branches, orelse=orelse):
                inside = tuple(s for _, block in (*branches, (None, orelse)) for s in block)
            case For(target=target, iterable=Call(func=Name(id=through)), body=block, orelse=orelse):
                if through not in _GONE_THROUGH or not all(isinstance(item, Name) for item in items_of(target)):
                    return False  # to go through an iterator uses it up
                inside = (*block, *orelse)
            case While(body=block, orelse=orelse):
                inside = (*block, *orelse)
            case _:
                return False
        return all(not isinstance(s, FunctionDefinition) and self._is_plain(s, body) for s in inside)

    def _is_transformed(self, expr: Expr, around: _Around) -> bool:
        """Whether an expression is the derivative of a function that has no effect, or maps one, and so on."""
        if not isinstance(expr, Call) or not expr.positional:
            return False
        symbol = self.model.resolver.resolve(expr.func, around.module, around.scope)
        transform = TRANSFORMS.get(symbol.name) if isinstance(symbol, External) else None
        if transform is None or transform.runs or transform.kind not in _AS_GIVEN:
            return False
        return self._is_given_without(expr.positional[0], around)

    def _is_given_without(self, function: Expr | None, around: _Around) -> bool:
        """Whether a function that is given to something in a body has no effect; lambdas are looked at there."""
        match function:
            case None:
                return False
            case Lambda():
                return True
            case Name(id=name) if name in around.functions:
                return True
            case Display(items=items):
                return bool(items) and all(self._is_given_without(item, around) for item in items)
        symbol = self.model.resolver.resolve(function, around.module, around.scope)
        if isinstance(symbol, FunctionSymbol):
            return not symbol.declaration.decorators and self._called_has_none(symbol, around.callers)
        return isinstance(symbol, External) and self._is_computing(symbol.name)

    def _runs_without(self, name: str, call: Call, around: _Around) -> bool:
        """Whether a function of a library, which runs functions that it is given, is given such as have no effect."""
        if call.has_star:
            return False
        if name in TREE_MAPS:
            return self._is_given_without(_given(call, 0, "f"), around)
        transform = TRANSFORMS.get(name)
        if transform is None or not transform.runs:
            return False
        return all(self._is_given_without(_given(call, *one), around) for one in transform.functions)

    def _computes(self, expr: Expr, around: _Around) -> bool:
        """Whether an expression itself does nothing but compute a value."""
        if not isinstance(expr, Call):
            return not isinstance(expr, NamedExpr) and getattr(expr, "kind", "") not in _ACTING
        func = expr.func
        if self._is_transformed(expr, around) or self._is_transformed(func, around):
            return True
        if isinstance(func, Name) and func.id in around.functions:
            return True
        symbol = self.model.resolver.resolve(func, around.module, around.scope)
        if isinstance(symbol, External):
            return self._is_computing(symbol.name) or self._runs_without(symbol.name, expr, around)
        if isinstance(symbol, FunctionSymbol):
            is_plain = self.model.updating_methods.only_compiles(symbol.declaration, symbol.module)
            return is_plain and self._called_has_none(symbol, around.callers)
        if isinstance(symbol, ClassSymbol):
            cls = self.model.build(symbol)
            return cls.is_pytree and self._makes(cls, around.callers)
        match func:
            case Attribute(attr="__class__") | Call(func=Name(id="type")):
                return True
            case Attribute(attr=name):
                return name in _METHODS or arrays.is_at_update(func) or self._only_updates(name)
        return False

    def _makes(self, cls: PytreeClass, callers: tuple[Key, ...]) -> bool:
        """Whether a constructor certainly has no effect but to store what it computes in the instance."""
        if not cls.has_own_construction:
            return True
        maker, init = cls.init_owner(), cls.custom_init()
        if maker is None or init is None or any(cls.method(name) for name in ("__post_init__", "__new__")):
            return False
        body, around = self._within(FunctionSymbol(maker.module, init), callers)
        return (
            body is not None
            and all(_stores(statement, init.self_name) or self._is_plain(statement, body) for statement in body)
            and all(self._computes(part, around) for part in all_parts(body, nested=False))
        )

    def _only_updates(self, name: str) -> bool:
        """Whether all methods of that name that are seen return a copy with changes, as far as names tell.

        Where containers have one of that name, which changes them, or the optimizers of nnx, the answer is unknown.
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


def _stores(statement: Statement, self_name: str | None) -> bool:
    """Whether a statement gives attributes of the instance that is made their values."""
    targets = statement.targets if isinstance(statement, Assign) else ()
    targets = (statement.target,) if isinstance(statement, Annotate) else targets
    items = [item for target in targets for item in items_of(target)]
    return bool(items) and all(
        isinstance(item, Attribute) and isinstance(item.value, Name) and item.value.id == self_name for item in items
    )


def _counts(name: str, body: Body) -> bool:
    """Whether a variable of a body begins as a number that is written out, whatever happens then, and counts."""
    binding = [s for s in walk(body, nested=False) if name in bound_names(s)]
    given = [s.value if isinstance(s, Assign) else None for s in binding if not isinstance(s, Augment)]
    begins = bool(binding) and isinstance(binding[0], Assign) and any(s is binding[0] for s in body)
    return begins and all(map(is_number, given))


def _given(call: Call, position: int, name: str) -> Expr | None:
    """What a call gives to a parameter, by position or by name."""
    return call.keyword(name) or next(iter(call.positional[position:]), None)
