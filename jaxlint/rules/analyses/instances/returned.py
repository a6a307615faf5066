"""Which instances a function makes and returns, if by way of helpers and of functions that it differentiates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from jaxlint.infer.choosing.given import MOST_HELPERS, is_plain, returns_once
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Instance, Value, plain
from jaxlint.libraries.transforms import TRANSFORMS, Returns
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol, Symbol, ValueSymbol
from jaxlint.pytrees.model import Placed
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Constant, DictDisplay, Display, Expr, Name, Subscript
from jaxlint.syntax.statements import Assign, Body, assigned_pairs, bound_names, walk

#: Which item is meant, from the outermost tuple inwards: `(0, 1)` is that of `x[0][1]`, and () the whole.
_Items = tuple[int, ...]
_MOST_NESTED = 4


class _Part(msgspec.Struct, frozen=True):
    """What a function returns, or a part of it."""

    expr: Expr
    #: The items of what the expression gives that are meant.
    items: _Items
    #: Where the function names the part, if it takes it out of something larger.
    at: object = None


def returned_instances(function: Function, module: Module, evaluator: Evaluator) -> Iterator[tuple[Value, object]]:
    """The instances that a function makes and returns, each with a place in it.

    It may keep them in variables that are bound once, have a helper make them, or get them from what a function returns
    that it differentiates with `has_aux=True`.
    """
    return _Returned(function, module, evaluator, 0).of_items(())


class _Returned:
    """Follows what one function returns; `depth` is the number of functions through which it was reached."""

    def __init__(self, function: Function, module: Module, evaluator: Evaluator, depth: int) -> None:
        self._function = function
        self._module = module
        self._evaluator = evaluator
        self._depth = depth
        self._variables: dict[str, _Part] | None = None

    def of_items(self, items: _Items) -> Iterator[tuple[Value, object]]:
        """The instances in some items of what is returned."""
        pending = [_Part(value, items) for value in self._function.return_values]
        seen: set[tuple[str, _Items]] = set()
        while pending:
            part = pending.pop()
            if isinstance(part.expr, Name):
                key = (part.expr.id, part.items)
                if key in seen or len(part.items) > _MOST_NESTED:
                    continue  # a variable that holds a part of itself
                seen.add(key)
                part = self._looked_up(part)
            match part.expr:
                case Display(kind="tuple" | "list", items=inside) if part.items:
                    index, *rest = part.items
                    if not part.expr.has_star and -len(inside) <= index < len(inside):
                        pending.append(_Part(inside[index], tuple(rest), part.at))
                case Display(items=inside) | DictDisplay(values=inside) if not part.items:
                    pending += [_Part(item, (), part.at) for item in inside]
                case Subscript(value=value, index=Constant(value=int(index))):
                    pending.append(_Part(value, (index, *part.items), part.at or part.expr.at))
                case Call():
                    yield from self._made(part.expr, part)

    def _looked_up(self, part: _Part) -> _Part:
        """What a variable holds that the function binds once, if a part is that of one; else the part itself."""
        expr = part.expr
        if not isinstance(expr, Name) or self._function.name == "<lambda>":
            return part
        held = self._bound().get(expr.id)
        if held is None:
            return part
        return _Part(held.expr, (*held.items, *part.items), part.at or (expr.at if held.items else None))

    def _bound(self) -> dict[str, _Part]:
        if self._variables is None:
            body = self._evaluator.calls.body_of(FunctionSymbol(self._module, self._function)) or ()
            self._variables = _bound_once(body)
            for parameter in self._function.parameters:
                self._variables.pop(parameter.name, None)
        return self._variables

    def _made(self, call: Call, part: _Part) -> Iterator[tuple[Value, object]]:
        """The instances in what a call gives."""
        model = self._evaluator.model
        made = model.resolver.resolve(call.func, self._module, self._function.inner_scope)
        cls = model.class_of_symbol(made)
        at = part.at or call.at
        if cls is not None:
            if not part.items:
                yield Instance(cls, exact=True), at
        elif isinstance(made, FunctionSymbol):
            if is_plain(made.declaration):
                yield from self._through(made, part.items, at)
        elif not isinstance(made, External):
            method = self._method(call.func)
            if method is not None:
                yield from self._through(method, part.items, at)
            else:
                yield from self._differentiated(call, made, part.items, at)

    def _method(self, func: Expr) -> FunctionSymbol | None:
        """The method of an instance that is called, if the class of that is certain and it returns in one place."""
        if not isinstance(func, Attribute):
            return None
        held = self._looked_up(_Part(func.value, ()))
        if held.items:
            return None
        value = plain(self._evaluator.static(Placed(held.expr, self._module, self._function.inner_scope)))
        if not isinstance(value, Instance) or not value.exact:
            return None
        found = value.cls.method(func.attr)
        return FunctionSymbol(found[0].module, found[1]) if found is not None and returns_once(found[1]) else None

    def _through(self, symbol: FunctionSymbol, items: _Items, at: object) -> Iterator[tuple[Value, object]]:
        """The instances in what another function makes and returns."""
        if self._depth < MOST_HELPERS:
            inside = _Returned(symbol.declaration, symbol.module, self._evaluator, self._depth + 1)
            for value, _ in inside.of_items(items):
                yield value, at

    def _differentiated(
        self, call: Call, made: Symbol | None, items: _Items, at: object
    ) -> Iterator[tuple[Value, object]]:
        """The instances that a function returns beside its value: what differentiates it hands them on."""
        evaluator, module, scope = self._evaluator, self._module, self._function.inner_scope
        if isinstance(made, ValueSymbol) and made.assignment.value is not None:
            derivative = made.assignment.value
            module, scope = made.module, made.scope
        else:
            derivative = self._looked_up(_Part(call.func, ())).expr
        if not isinstance(derivative, Call) or not derivative.positional:
            return
        transform = TRANSFORMS.get(evaluator.model.resolver.library_name(derivative.func, module, scope))
        beside = None if transform is None else _beside(transform.returns, items)
        if transform is None or beside is None:
            return
        applied = evaluator.calls.transformed.from_call(transform, derivative.at, derivative.args[1:], module, scope)
        if not applied.has_aux:
            return
        function = evaluator.model.resolver.resolve(derivative.positional[0], module, scope)
        if isinstance(function, FunctionSymbol) and self._may_follow(function.declaration):
            yield from self._through(function, (1, *beside), at)

    def _may_follow(self, function: Function) -> bool:
        """Whether nothing is made of a function, which returns in one place: one of the module, or of this function."""
        if function.scope != self._function.inner_scope:
            return is_plain(function)
        return returns_once(function)


def _beside(returns: Returns, items: _Items) -> _Items | None:
    """Which items of the second thing that a function returns are among some of what its derivative gives.

    `jax.value_and_grad` gives `((value, aux), gradient)`, `jax.grad` gives `(gradient, aux)`. None if there are none.
    """
    if returns is Returns.GRADIENT:
        path: _Items = (1,)
    elif returns is Returns.VALUE_AND_GRADIENT:
        path = (0, 1)
    else:
        return None
    if items[: len(path)] == path:
        return items[len(path) :]
    return () if path[: len(items)] == items else None


def _bound_once(body: Body) -> dict[str, _Part]:
    """The variables that a body binds once, by an assignment, to what; functions in it have variables of their own."""
    statements = list(walk(body, nested=False))
    bound = Counter(name for statement in statements for name in bound_names(statement))
    found: dict[str, _Part] = {}
    for statement in statements:
        if isinstance(statement, Assign) and len(statement.targets) == 1:
            for target, value in assigned_pairs(statement):
                if isinstance(target, Name):
                    found[target.id] = _Part(value, ())
                elif isinstance(target, Display):
                    found.update((name, _Part(value, items)) for name, items in _names_in(target, ()))
    return {name: part for name, part in found.items() if bound[name] == 1}


def _names_in(target: Expr, items: _Items) -> Iterator[tuple[str, _Items]]:
    """The variables in a target, with the items that each is given."""
    if isinstance(target, Name):
        yield target.id, items
    elif isinstance(target, Display) and not target.has_star:
        for number, item in enumerate(target.items):
            yield from _names_in(item, (*items, number))
