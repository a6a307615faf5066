"""What the `where` of `eqx.tree_at(where, tree, value)` selects."""

from __future__ import annotations

from typing import NamedTuple

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Place
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol, Symbol, ValueSymbol
from jaxlint.syntax.expressions import Attribute, Call, Constant, Display, Expr, Lambda, Name, Subscript, dotted
from jaxlint.syntax.statements import assigned_names, bound_once

#: So many functions may stand between `where` and a field.
_MAX_DEPTH = 3


class Selection(NamedTuple):
    """The parameter of a function of one parameter, what the function returns, and where that stands."""

    root: str
    body: Expr
    module: Module
    scope: str


def selection(where: Expr | None, place: Place, evaluator: Evaluator) -> Selection | None:
    """A lambda, also one in a variable, or a function of the project that does nothing but return something."""
    given = _variable(where, place, evaluator) if isinstance(where, Name) else where
    if isinstance(given, Lambda):
        return Selection(given.params[0], given.body, place.module, place.scope) if len(given.params) == 1 else None
    if not isinstance(where, (Name, Attribute)):
        return None
    return _of_function(evaluator.model.resolver.resolve(where, place.module, place.scope))


def paths_selected(where: Expr | None, place: Place, evaluator: Evaluator) -> frozenset[str] | None:
    """The dotted paths of what `where` selects, `layers.0.bias`; None if they cannot be determined."""
    selected = selection(where, place, evaluator)
    paths = None if selected is None else _paths(selected.body, selected, evaluator, 0)
    return None if paths is None or "" in paths else paths


def _of_function(symbol: Symbol) -> Selection | None:
    if not isinstance(symbol, FunctionSymbol):
        return None
    function = symbol.declaration
    decorated = any(dotted(decorator) != "staticmethod" for decorator in function.decorators)
    if not function.only_returns or decorated or function.is_async or function.is_generator:
        return None
    if len(function.parameters) != 1 or len(function.return_values) != 1 or function.parameters[0].kind in ("*", "**"):
        return None
    return Selection(function.parameters[0].name, function.return_values[0], symbol.module, function.inner_scope)


def _variable(name: Name, place: Place, evaluator: Evaluator) -> Expr | None:
    """What a variable of the function, or of the module, is given in its one assignment."""
    function = place.function
    if function is not None:
        body = evaluator.calls.body_of(FunctionSymbol(place.module, function)) or ()
        if name.id in assigned_names(body):
            return bound_once(body).get(name.id)
    symbol = evaluator.model.resolver.resolve(name, place.module, place.scope)
    return symbol.assignment.value if isinstance(symbol, ValueSymbol) and symbol.module is place.module else None


def _paths(expr: Expr, within: Selection, evaluator: Evaluator, depth: int) -> frozenset[str] | None:
    """What an expression selects of the parameter, which is the empty path; of several things, all paths."""
    match expr:
        case Name(id=within.root):
            return frozenset({""})
        case Display(kind="tuple" | "list", items=items):
            each = [_paths(item, within, evaluator, depth) for item in items]
            return frozenset[str]().union(*(one or () for one in each)) if None not in each else None
        case Attribute(value=held, attr=step) | Subscript(value=held, index=Constant(value=int() | str() as step)):
            return _joined(_paths(held, within, evaluator, depth), frozenset({str(step)}))
        case Call(func=func, args=(argument,)) if argument.keyword is None and not argument.star and depth < _MAX_DEPTH:
            called = _of_function(evaluator.model.resolver.resolve(func, within.module, within.scope))
            inner = None if called is None else _paths(called.body, called, evaluator, depth + 1)
            return _joined(_paths(argument.value, within, evaluator, depth), inner)
    return None


def _joined(before: frozenset[str] | None, after: frozenset[str] | None) -> frozenset[str] | None:
    """The paths that begin with the one path before; None if there are more of that."""
    if before is None or after is None or len(before) != 1:
        return None
    (start,) = before
    return frozenset(".".join(step for step in (start, path) if step) for path in after)
