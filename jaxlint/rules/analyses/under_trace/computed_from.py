"""What a traced array or number is computed from: jax gives a tracer for whatever it computes with one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxlint.libraries.arrays import ARRAY_ATTRIBUTES, ARRAY_METHODS, ARRAY_REDUCTIONS, OF_TRAITS, returned_library
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Binary, Call, Compare, Constant, Expr, Name, Subscript, Unary

_MAX_DEPTH = 6
_ORDERS = frozenset({"<", ">", "<=", ">=", "==", "!="})
#: Functions of Python that ask their argument to compute the result.
_ARITHMETIC = frozenset({"builtins.abs", "builtins.pow", "builtins.round"})
_METHODS = ARRAY_METHODS | ARRAY_REDUCTIONS


class Origins:
    """Tells from which traced array or number an expression is computed, if it is certainly traced itself."""

    def __init__(
        self, is_traced: Callable[[Expr], bool], name_of: Callable[[Expr], str], bound: Mapping[str, Expr]
    ) -> None:
        self._is_traced = is_traced
        #: The dotted name of a function that is called, "" if it is not known.
        self._name_of = name_of
        #: What variables stand for that are bound once.
        self._bound = bound

    def of(self, expr: Expr, depth: int = 0) -> Expr | None:
        """The traced expression itself, or the first one that goes into it."""
        if self._is_traced(expr):
            return expr
        if depth > _MAX_DEPTH:
            return None
        match expr:
            case Name(id=name) if name in self._bound and is_behind(expr, self._bound[name]):
                return self.of(self._bound[name], depth + 1)
            case Binary(left=left, right=right):
                return self.of(left, depth) or self.of(right, depth)
            case Unary(op="-" | "+" | "~", operand=operand):
                return self.of(operand, depth)
            case Compare(left=left, ops=(op,), comparators=(right,)) if op in _ORDERS:
                if any(isinstance(e, Constant) and e.kind in ("str", "NoneType") for e in (left, right)):
                    return None
                return self.of(left, depth) or self.of(right, depth)
            case Subscript(value=held):
                return self.of(held, depth)
            case Attribute(value=held, attr=attr) if attr in ARRAY_ATTRIBUTES:
                return self.of(held, depth)
            case Call():
                return self._returned(expr, depth)
        return None

    def _returned(self, call: Call, depth: int) -> Expr | None:
        """What goes into the array that a function of jax, arithmetic of Python or a method of an array returns."""
        name = self._name_of(call.func)
        if name in _ARITHMETIC or (returned_library(name) == "jax" and name.rpartition(".")[2] not in OF_TRAITS):
            found = (self.of(argument, depth + 1) for argument in call.positional)
            return next((one for one in found if one is not None), None)
        if not name and isinstance(call.func, Attribute) and call.func.attr in _METHODS:
            return self.of(call.func.value, depth + 1)
        return None


def is_behind(expr: Expr, value: Expr) -> bool:
    """Whether an expression stands behind another one."""
    return place_of(expr.at)[:2] >= place_of(value.at)[2:]
