"""Which expressions certainly make what flax.nnx calls data: modules, variables, arrays, and what holds such."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from jaxlint.infer.calls.nnx_values import is_array, is_module, role_of_value
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import plain
from jaxlint.libraries.nnx import DATA
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
    NamedExpr,
    Subscript,
    Unary,
    dotted,
)
from jaxlint.syntax.statements import Assign, Body, assigned_names, target_names, walk

#: Operators that make an array of an array and anything else.
_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "**", "@"})
_MAX_DEPTH = 4


class Inside(NamedTuple):
    """The function in which an expression stands; its class, if it is a method."""

    function: Function
    module: Module
    body: Body
    cls: PytreeClass | None
    #: Whether arrays count, or only modules and variables.
    arrays: bool = True

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
            if not given:
                return name not in hidden and _is_declared(name, inside, evaluator)
            return all(is_data(one, inside, evaluator, hidden, depth + 1) for one in given)
        case NamedExpr(value=value):
            return is_data(value, inside, evaluator, hidden, depth)
        case Comprehension(clauses=clauses):
            hidden |= {name for clause in clauses for name in target_names(clause.target)}
        case Unary(op="-" | "+", operand=operand):
            return is_data(operand, inside, evaluator, hidden, depth)
        case Binary(op=op, left=left, right=right):
            sides = (left, right) if op in _ARITHMETIC and inside.arrays else ()
            return any(is_data(side, inside, evaluator, hidden, depth) for side in sides)
        case Conditional(body=body, orelse=orelse):
            return all(is_data(one, inside, evaluator, hidden, depth) for one in (body, orelse))
        case Call(func=func) if len(chosen := _classes_chosen(func, inside)) > 1:
            return all(is_data(replace(expr, func=one), inside, evaluator, hidden, depth + 1) for one in chosen)
        case Call():
            placed = Placed(expr, inside.module, inside.function.inner_scope)
            leaf = role_of_value(placed, evaluator) is Role.LEAF and (inside.arrays or not is_array(placed, evaluator))
            return leaf or _is_returned(expr, inside, evaluator, depth)
    return any(is_data(item, inside, evaluator, hidden, depth) for item in items_held(expr))


def _classes_chosen(func: Expr, inside: Inside) -> tuple[Expr, ...]:
    """What is called perhaps, where that is one of several: by a condition, by a branch, or by a name out of a dict."""
    match func:
        case Name(id=name):
            given = inside.given(name)
            return given if len(given) != 1 else _classes_chosen(given[0], inside)
        case Conditional(body=body, orelse=orelse):
            return (body, orelse)
        case Subscript(value=DictDisplay(values=values)):
            return values
    return ()


def _is_declared(name: str, inside: Inside, evaluator: Evaluator) -> bool:
    """Whether a name is a parameter, bound to nothing else, that is annotated with a class of modules or variables."""
    declared = [
        p for p in inside.function.parameters if p.name == name and p.default is None and not p.kind.startswith("*")
    ]
    annotation = declared[0].annotation if declared else None
    if annotation is None or name in assigned_names(inside.body):
        return False
    placed = Placed(annotation, inside.module, inside.function.scope)
    named = evaluator.model.resolver.library_name(annotation, inside.module, inside.function.scope)
    return named in DATA or named == "flax.nnx.Module" or is_module(plain(evaluator.annotations.read(placed)))


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
    within = Inside(function, called.module, tuple(evaluator.calls.body_of(called) or ()), cls, inside.arrays)
    return all(is_data(value, within, evaluator, frozenset(), depth + 1) for value in values)
