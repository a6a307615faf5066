"""Which expressions certainly make what flax.nnx calls data: modules, variables, arrays, and what holds such."""

from __future__ import annotations

from typing import NamedTuple

from jaxlint.infer.calls.nnx_values import role_of_value
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Comprehension,
    Conditional,
    DictDisplay,
    Display,
    Expr,
    Name,
    Unary,
    dotted,
)
from jaxlint.syntax.statements import Assign, Body, target_names, walk

#: Operators that make an array of an array and anything else.
_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "**", "@"})
_MAX_DEPTH = 4


class Inside(NamedTuple):
    """The function in which an expression stands; its class, if it is a method."""

    function: Function
    module: Module
    body: Body
    cls: PytreeClass | None

    def given(self, name: str) -> tuple[Expr, ...]:
        """What a variable may hold, if each time that it is bound is a plain assignment."""
        bound = self.module.outline.scopes[self.function.inner_scope].bindings.get(name, ())
        assigned = [s for s in walk(self.body, nested=False) if isinstance(s, Assign) and len(s.targets) == 1]
        found = tuple(s.value for s in assigned if isinstance(s.targets[0], Name) and s.targets[0].id == name)
        return found if len(found) == len(bound) else ()


def items_held(expr: Expr) -> tuple[Expr, ...]:
    """What a display or a comprehension certainly holds."""
    match expr:
        case Display(items=items):
            return items
        case DictDisplay(values=values):
            return values
        case Comprehension(kind="list" | "dict", element=element):
            return (element,)
    return ()


def is_data(
    expr: Expr, inside: Inside, evaluator: Evaluator, hidden: frozenset[str] = frozenset(), depth: int = 0
) -> bool:
    """Whether an expression certainly makes data, or a container that holds some.

    Names in `hidden` are those of comprehensions around it, and no variables of the function.
    """
    if depth > _MAX_DEPTH:
        return False
    match expr:
        case Name(id=name):
            given = () if name in hidden else inside.given(name)
            return bool(given) and all(is_data(one, inside, evaluator, hidden, depth + 1) for one in given)
        case Comprehension(clauses=clauses):
            hidden |= {name for clause in clauses for name in target_names(clause.target)}
        case Unary(op="-" | "+", operand=operand):
            return is_data(operand, inside, evaluator, hidden, depth)
        case Binary(op=op, left=left, right=right):
            sides = (left, right) if op in _ARITHMETIC else ()
            return any(is_data(side, inside, evaluator, hidden, depth) for side in sides)
        case Conditional(body=body, orelse=orelse):
            return all(is_data(one, inside, evaluator, hidden, depth) for one in (body, orelse))
        case Call():
            leaf = role_of_value(Placed(expr, inside.module, inside.function.inner_scope), evaluator) is Role.LEAF
            return leaf or _is_returned(expr, inside, evaluator, depth)
    return any(is_data(item, inside, evaluator, hidden, depth) for item in items_held(expr))


def _is_returned(call: Call, inside: Inside, evaluator: Evaluator, depth: int) -> bool:
    """Whether a function of the project, or a method of the same class, returns data in any case."""
    symbol = evaluator.model.resolver.resolve(call.func, inside.module, inside.function.inner_scope)
    called, cls = (symbol, None) if isinstance(symbol, FunctionSymbol) else (None, inside.cls)
    if called is None and cls is not None and isinstance(call.func, Attribute):
        method = cls.method(call.func.attr) if dotted(call.func.value) == inside.function.self_name else None
        called = None if method is None else FunctionSymbol(method[0].module, method[1])
    if called is None:
        return False
    function, values = called.declaration, called.declaration.return_values
    if function.decorators or function.is_async or function.is_generator or not values:
        return False
    within = Inside(function, called.module, tuple(evaluator.calls.body_of(called) or ()), cls)
    return all(is_data(value, within, evaluator, frozenset(), depth + 1) for value in values)
