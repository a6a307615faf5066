"""Whether a function returns an update of an argument that is donated to it, so that its buffers are of use."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Cross
from jaxlint.infer.known.values import Container, Instance, Value, as_instance, plain
from jaxlint.libraries.arrays import ARRAY_REDUCTIONS, JOINING
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Display,
    Expr,
    Lambda,
    Name,
    Subscript,
    dotted,
    last_name,
    root,
)
from jaxlint.syntax.statements import Assign, Body, bound_once, looked_up, target_names, walk

#: Functions that give a copy of a tree of the same shapes.
_COPYING = frozenset("replace _replace tree_at map tree_map apply_updates update apply_gradients".split())
#: Functions of arrays whose result has another shape than what they are given.
_RESHAPING = ARRAY_REDUCTIONS | {name.rpartition(".")[2] for name in JOINING}
_CARRYING = frozenset({"fori_loop", "while_loop", "scan"})


def is_updated(event: Cross, function: Function, evaluator: Evaluator) -> bool:
    """Whether the function certainly returns an update of the argument, so that its buffers are of use."""
    instance = as_instance(event.value)
    if function.returns is not None and event.module is not None and instance is not None:
        value = evaluator.promises.returned(function, event.module)
        if any(isinstance(v, Instance) and v.cls is instance.cls for v in _parts(value)):
            return True
    name, made_new = event.parameter, _Made(event, function, evaluator)
    if name is None:
        return False
    returned = list(_returned(function))
    if instance is None and event.module is not None:
        body = evaluator.calls.body_of(FunctionSymbol(event.module, function)) or ()
        if _is_made_anew(name, body):
            returned = [expr for expr in returned if not (isinstance(expr, Name) and expr.id == name)]
    return any(updates(expr, name) or made_new(expr) for expr in returned)


def _is_made_anew(name: str, body: Body) -> bool:
    """Whether a variable is given what some function makes of it, which may be of another shape or type."""
    return any(
        isinstance(statement, Assign)
        and not updates(statement.value, name)
        and any(name in target_names(target) for target in statement.targets)
        for statement in walk(body, nested=False)
    )


class _Made:
    """Tells which expressions of a function make another instance of the class that is donated.

    They construct one, or call a method of the instance that returns an update of it.
    """

    def __init__(self, event: Cross, function: Function, evaluator: Evaluator) -> None:
        self._cls = instance.cls if (instance := as_instance(event.value)) is not None else None
        self._exact = instance is not None and instance.exact
        self._name = event.parameter
        self._function = None if event.module is None else FunctionSymbol(event.module, function)
        self._evaluator = evaluator

    def __call__(self, expr: Expr) -> bool:
        function, evaluator = self._function, self._evaluator
        if self._cls is None or function is None:
            return False
        if isinstance(expr, Name):
            expr = looked_up(expr, bound_once(evaluator.calls.body_of(function) or ()))
        if not isinstance(expr, Call):
            return False
        scope = function.declaration.inner_scope
        symbol = evaluator.model.resolver.resolve(expr.func, function.module, scope)
        if evaluator.model.class_of_symbol(symbol) is self._cls or self._is_updating(expr.func):
            return True
        return isinstance(symbol, FunctionSymbol) and self._is_updated_by(symbol.declaration, expr)

    def _is_updated_by(self, function: Function, call: Call) -> bool:
        """Whether a function is given the instance, all of whose results are updates of it."""
        given = call.given_to(list(function.positional))
        names = [name for name, value in given.items() if isinstance(value, Name) and value.id == self._name]
        return len(names) == 1 and not function.owner and _gives_updates(function, names[0])

    def _is_updating(self, func: Expr) -> bool:
        """Whether a method of the parameter is called all of whose results are updates of its instance."""
        cls = self._cls
        if cls is None or not isinstance(func, Attribute) or dotted(func.value) != self._name:
            return False
        found = cls.method(func.attr)
        if found is None or (not self._exact and self._evaluator.model.is_overridden(cls, func.attr)):
            return False
        method = found[1]
        return method.self_name is not None and _gives_updates(method, method.self_name)


def _gives_updates(function: Function, name: str) -> bool:
    """Whether all that a function returns are updates of its parameter."""
    is_plain = not (function.decorators or function.is_generator or function.is_async)
    values = function.return_values
    return is_plain and bool(values) and all(updates(value, name) for value in values)


def _parts(value: Value) -> list[Value]:
    value = plain(value)
    if isinstance(value, Container) and value.items is not None:
        return [plain(item) for item in value.items]
    return [value]


def _returned(function: Function) -> Iterator[Expr]:
    pending = list(function.return_values)
    while pending:
        expr = pending.pop()
        if isinstance(expr, Display):
            pending += expr.items
        else:
            yield expr


def updates(expr: Expr, parameter: str) -> bool:
    """Whether a returned expression is a new value of a parameter."""
    match expr:
        case Name(id=name):
            return name == parameter or name in (f"new_{parameter}", f"next_{parameter}", f"updated_{parameter}")
        case Binary(left=left, right=right):
            return any(isinstance(e, Name) and e.id == parameter for e in (left, right))
        case Call(func=func):
            if last_name(func) in _CARRYING:
                carry = _initial_carry(expr)
                return isinstance(carry, Name) and carry.id == parameter
            if last_name(func) not in _COPYING:
                return False
            if _changes_shapes(expr):
                return False
            start = root(func)
            if isinstance(start, Name) and start.id == parameter and isinstance(func, Attribute):
                return True
            return any(isinstance(a, Name) and a.id == parameter for a in expr.positional)
    return False


def _initial_carry(call: Call) -> Expr | None:
    """What a loop of jax begins with, which has the structure of its result, or of the first item of that (scan)."""
    if last_name(call.func) == "scan":
        return call.keyword("init") or next(iter(call.positional[1:]), None)
    return call.keyword("init_val") or next(reversed(call.positional), None)


def _changes_shapes(call: Call) -> bool:
    """Whether what is mapped over the leaves of trees gives leaves of other shapes, as joining and summing does."""
    mapped = call.positional[0] if call.positional else None
    made = mapped.body if isinstance(mapped, Lambda) else None
    return isinstance(made, Subscript) or (isinstance(made, Call) and last_name(made.func) in _RESHAPING)
