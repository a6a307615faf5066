"""Whether two values may well have one structure and one type, which `jax.lax.cond` wants of its branches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import NUMBERS, Instance, Scalar, plain
from jaxlint.libraries.arrays import is_elementwise
from jaxlint.libraries.updates import AT, COPYING_NAMES, SHALLOW_COPIES, UPDATE_FUNCTIONS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import UNKNOWN, ClassSymbol, ValueSymbol
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Compare,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Name,
    Subscript,
    Unary,
    dotted,
)

#: What is done to values that may give them another structure, type or shape; None if it cannot be told.
Changing: TypeAlias = "frozenset[object] | None"

#: What stands for a variable or an attribute, which may hold anything, and for the result of a function of the project.
_HELD, _RETURNED = "a value", "a result"


class AlikeValues:
    """Compares expressions of one scope by what is done there to the values that they are made of."""

    def __init__(self, module: Module, scope: str, evaluator: Evaluator) -> None:
        self._module = module
        self._scope = scope
        self._evaluator = evaluator
        self._resolver = evaluator.model.resolver

    def may_be(self, one: Expr, other: Expr) -> bool:
        """Whether the same is done in two expressions, so that a guess is that they give the same type."""
        first = self.changing(one)
        return first is not None and first == self.changing(other)

    def is_said_to_be(self, kind: str, field: str | None, call: Call) -> bool:
        """Whether a class says that a field, which a call gives a value, is a number of a kind."""
        cls = self._class_of(call)
        known = None if cls is None or field is None else cls.field(field)
        value = None if cls is None or known is None else plain(self._evaluator.promises.field(known, cls))
        return isinstance(value, Scalar) and value.kind == kind

    def changing(self, expr: Expr) -> Changing:
        """What an expression does to the values that it is made of."""
        match expr:
            case Constant(value=value, kind=kind):
                return frozenset({kind} if kind in NUMBERS and value is not None else ()) or None
            case Name():
                return frozenset({_HELD}) if self._is_value(expr) else None
            case Attribute(value=held):
                return self.changing(held)
            case Unary(op=op, operand=operand):
                return None if op == "not" else self.changing(operand)
            case Binary(op=op, left=left, right=right):
                return self._together((left, right), (op,) if op == "@" else ())
            case Compare(left=left, comparators=comparators):
                return self._together((left, *comparators), ("compared",))
            case Subscript(value=held):
                return self._together((held,), ("[]",))
            case Display(kind=kind, items=items) if not expr.has_star and kind != "set":
                return self._structure(kind, items)
            case DictDisplay(keys=keys, values=values) if all(isinstance(key, Constant) for key in keys):
                return self._structure(tuple(sorted(repr(k.value) for k in keys if isinstance(k, Constant))), values)
            case Call() if not expr.has_star:
                return self._called(expr)
        return None

    def _is_value(self, name: Name) -> bool:
        """Whether a name stands for no function, class or module."""
        symbol = self._resolver.resolve(name, self._module, self._scope)
        return symbol == UNKNOWN or isinstance(symbol, ValueSymbol)

    def _together(self, exprs: Iterable[Expr], also: Iterable[object] = ()) -> Changing:
        """What several expressions do, that are computed with; numbers adapt to the others."""
        found = set[object](also)
        for expr in exprs:
            changing = self.changing(expr)
            if changing is None:
                return None
            found |= changing
        return frozenset(found - NUMBERS if _HELD in found or _RETURNED in found else found)

    def _structure(self, kind: object, items: Iterable[Expr]) -> Changing:
        inside = [self.changing(item) for item in items]
        return None if None in inside else frozenset({(kind, *inside)})

    def _called(self, call: Call) -> Changing:
        """What a call gives: a copy is what it is a copy of."""
        func = call.func
        library = self._resolver.library_name(func, self._module, self._scope)
        if is_elementwise(library):
            return self._together(call.positional)
        if library in SHALLOW_COPIES or library in UPDATE_FUNCTIONS:
            position = UPDATE_FUNCTIONS.get(library, 0)
            return self._copied(call, call.positional[position]) if position < len(call.positional) else None
        symbol = self._resolver.resolve(func, self._module, self._scope)
        if library or isinstance(symbol, ClassSymbol):
            keywords = tuple(sorted(argument.keyword or "" for argument in call.args))
            return frozenset({(library or dotted(func), keywords), *self._numbers_given(call)})
        match func:
            case Attribute(value=held, attr=attr) if attr in COPYING_NAMES:
                return self._copied(call, held)
            case Attribute(value=Subscript(value=Attribute(value=held, attr=at))) if at == AT:
                return self.changing(held)
            case Attribute(value=held, attr=attr) if not self._is_declared(attr):
                return self._together((held,), (f".{attr}()",))
        return frozenset({_RETURNED})

    def _copied(self, call: Call, held: Expr) -> Changing:
        """What a copy is a copy of, with the numbers that it is given."""
        changing = self.changing(held)
        return None if changing is None else changing.union(self._numbers_given(call))

    def _numbers_given(self, call: Call) -> Iterator[object]:
        """The numbers written out that a call gives fields, which need be no such numbers in another instance."""
        for argument in call.args:
            kinds = self.changing(argument.value)
            for kind in NUMBERS.intersection(map(str, kinds or ())) if kinds and kinds <= NUMBERS else ():
                if not self.is_said_to_be(kind, argument.keyword, call):
                    yield argument.keyword, kind

    def _class_of(self, call: Call) -> PytreeClass | None:
        """The class that a call makes an instance of, or of whose instance it makes a copy."""
        func, scope = call.func, (self._module, self._scope)
        symbol = self._resolver.resolve(func, *scope)
        if isinstance(symbol, ClassSymbol):
            return self._evaluator.model.class_of_symbol(symbol)
        library = self._resolver.library_name(func, *scope)
        held = next(iter(call.positional), None) if library else func.value if isinstance(func, Attribute) else None
        instance = None if held is None else plain(self._evaluator.static(Placed(held, *scope)))
        return instance.cls if isinstance(instance, Instance) else None

    def _is_declared(self, name: str) -> bool:
        """Whether a function or a method of the module has a name."""
        return any(function.name == name for function in self._module.outline.functions.values())
