"""Which function of jax can choose between two values, for all that is known of their structures and types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import NUMBERS, Array, UnknownValue, is_python_number, plain
from jaxlint.libraries.arrays import ARRAY_METHODS, ARRAY_REDUCTIONS, returned_library
from jaxlint.libraries.updates import AT, SHALLOW_COPIES
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import Placed
from jaxlint.rules.analyses.fixes.alike_values import AlikeValues
from jaxlint.rules.analyses.under_trace.library_forms import gives_floats
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Compare,
    Constant,
    Display,
    Expr,
    Name,
    Subscript,
    Unary,
    children,
    dotted,
    last_name,
)
from jaxlint.syntax.statements import Body, bound_once, parts

#: Wants the structure, the shapes and the types of what its functions return to be the same.
BY_FUNCTIONS = "jax.lax.cond"
#: Takes arrays and numbers, and makes them alike.
BY_VALUES = "jax.numpy.where"
#: Functions that have no value, or no derivative, for some numbers.
_PARTIAL_FUNCTIONS = frozenset(
    "log log2 log10 log1p sqrt rsqrt cbrt power float_power divide true_divide reciprocal norm arccos arcsin arctan2"
    " arccosh arctanh acos asin atan2 acosh atanh".split()
)


class ChosenValues:
    """Knows what is told of the values in one function."""

    def __init__(self, function: Function, body: Body, module: Module, evaluator: Evaluator) -> None:
        self._module = module
        self._scope = function.inner_scope
        self._evaluator = evaluator
        self._bound = bound_once(body)
        self._alike = AlikeValues(module, self._scope, evaluator)

    def chosen_by(self, one: Expr, other: Expr) -> str:
        """The function that may choose between two values; empty if none may."""
        found = self._chosen_by(one, other)
        # both values are computed then, and a derivative of what the condition keeps away may be nan
        return "" if found == BY_VALUES and (self._may_fail(one) or self._may_fail(other)) else found

    def _may_fail(self, expr: Expr) -> bool:
        """Whether an expression is computed with what has no value, or no derivative, for some numbers."""
        for part in parts(expr):
            if isinstance(part, Binary) and part.op in ("/", "//", "%", "**") and not isinstance(part.right, Constant):
                return True
            if isinstance(part, Call) and last_name(part.func) in _PARTIAL_FUNCTIONS:
                return True
        return False

    def _chosen_by(self, one: Expr, other: Expr) -> str:
        if self._is_number(one) != self._is_number(other):
            return BY_VALUES if self._are_arrays(one, other) else ""
        if not self._alike.may_be(one, other):
            return ""
        is_same_kind = self._kinds(one) == self._kinds(other)
        if is_same_kind and _names(one) == _names(other):
            return BY_FUNCTIONS
        if self._are_arrays(one, other):
            return BY_VALUES
        return BY_FUNCTIONS if is_same_kind else ""

    def _is_number(self, expr: Expr) -> bool:
        """Whether an expression is a number that is written out."""
        changing = self._alike.changing(expr)
        return changing is not None and changing <= NUMBERS

    def _kinds(self, expr: Expr) -> object:
        """What an expression brings in that makes numbers of another kind; of a tuple what each item does."""
        match expr:
            case Constant(kind=kind):
                return frozenset({kind} if kind in ("float", "complex") else ())
            case Unary(operand=held) | Subscript(value=held):
                return self._kinds(held)
            case Binary(op=op, left=left, right=right):
                return self._together((left, right), ("float",) if op == "/" else ())
            case Display(items=items):
                return tuple(map(self._kinds, items))
            case Call(func=func):
                library = self._evaluator.model.resolver.library_name(func, self._module, self._scope)
                if not library or library in SHALLOW_COPIES:
                    return frozenset(self._kinds_given(expr))
                return self._together(expr.positional, ("float",) if gives_floats(library) else ())
        return frozenset()

    def _kinds_given(self, call: Call) -> Iterator[object]:
        """What a call gives fields that makes numbers of another kind than these are said to be."""
        for argument in call.args:
            kinds = self._kinds(argument.value)
            if kinds and not (kinds == {"float"} and self._alike.is_said_to_be("float", argument.keyword, call)):
                yield argument.keyword, kinds

    def _together(self, exprs: Iterable[Expr], also: Iterable[str]) -> object:
        found: set[object] = set(also)
        for expr in exprs:
            kinds = self._kinds(expr)
            found |= kinds if isinstance(kinds, frozenset) else {kinds}
        return frozenset(found)

    def _are_arrays(self, one: Expr, other: Expr) -> bool:
        """Whether two expressions are arrays or numbers, as is what is computed with."""
        return self._is_array(one, _operands(other)) and self._is_array(other, _operands(one))

    def _is_array(self, expr: Expr, operands: frozenset[str] = frozenset()) -> bool:
        value = plain(self._evaluator.static(Placed(expr, self._module, self._scope)))
        if not isinstance(value, UnknownValue):
            return isinstance(value, Array) or is_python_number(value)
        if dotted(expr) in operands:
            return True
        match expr:
            case Name(id=name):
                return name in self._bound and self._is_array(self._bound[name])
            case Unary(operand=operand):
                return self._is_array(operand) or dotted(operand) is not None
            case Binary(left=left, right=right):
                return all(dotted(side) is not None or self._is_array(side) for side in (left, right))
            case Compare():
                return True
            case Subscript(value=held):
                return self._is_array(held, operands)
            case Call(func=Attribute(value=held, attr=attr)):
                return self._is_of_array(expr, held, attr)
        return False

    def _is_of_array(self, call: Call, held: Expr, attr: str) -> bool:
        """Whether a call makes an array: of a library, or of a method that arrays have."""
        library = self._evaluator.model.resolver.library_name(call.func, self._module, self._scope)
        if library:
            return returned_library(library) is not None
        if isinstance(held, Subscript) and isinstance(held.value, Attribute) and held.value.attr == AT:
            return True
        return attr in ARRAY_REDUCTIONS or (attr in ARRAY_METHODS and self._is_array(held))


def _names(expr: Expr) -> frozenset[str]:
    """The variables and attributes that an expression is made of, methods left out."""
    match expr:
        case Call(func=Attribute(value=held)):
            return frozenset().union(_names(held), *(_names(argument.value) for argument in expr.args))
        case Attribute(value=held, attr=attr) if attr == AT or dotted(expr) is None:
            return _names(held)
        case Name() | Attribute():
            return frozenset(filter(None, (dotted(expr),)))
    return frozenset().union(*map(_names, children(expr)))


def _operands(expr: Expr) -> frozenset[str]:
    """The variables and attributes that an expression computes with."""
    match expr:
        case Name() | Attribute():
            return frozenset(filter(None, (dotted(expr),)))
        case Unary(operand=operand):
            return _operands(operand)
        case Binary(left=left, right=right):
            return _operands(left) | _operands(right)
    return frozenset()
