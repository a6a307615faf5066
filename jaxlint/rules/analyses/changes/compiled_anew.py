"""Calls for which jax compiles a function once more: other static arguments, or arrays of another shape."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.transforms.applied import Applied
from jaxlint.infer.transforms.transformed import names_static
from jaxlint.libraries.transforms import TRANSFORMS
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import own_methods
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, attribute_of, dotted, last_name, same
from jaxlint.syntax.statements import all_parts

#: Functions that make an array of the shape, or the length, that they are given first.
_SHAPED = frozenset({"ones", "zeros", "empty", "full", "arange", "eye"})


class StaticArguments(msgspec.Struct, frozen=True):
    """The arguments by whose values a compiled function is looked up, by position and by name."""

    positions: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()
    is_known: bool = True

    def __bool__(self) -> bool:
        return bool(self.positions or self.names) or not self.is_known

    def given(self, call: Call) -> Iterator[Expr]:
        """What a call gives for them."""
        for index, value in enumerate(call.positional):
            if index in self.positions or not self.is_known:
                yield value
        for argument in call.args:
            if argument.keyword is not None and (argument.keyword in self.names or not self.is_known):
                yield argument.value


def static_arguments(holder: str, cls: PytreeClass, evaluator: Evaluator) -> StaticArguments:
    """The static arguments of what the class keeps compiled in an attribute."""
    for one in cls.mro:
        for method in own_methods(one):
            for assigned in method.self_assignments:
                if assigned.attr == holder and isinstance(assigned.value, Call):
                    return _said(assigned.value, FunctionSymbol(one.module, method), cls, evaluator)
    return StaticArguments()


def static_beside_self(applied: Applied, method: Function) -> StaticArguments:
    """The static arguments of a method, beside its `self`, for those who call it."""
    names = applied.static_parameters(method)
    if names is None:
        return StaticArguments(is_known=False)
    free = method.positional[1:]
    said = names - {method.self_name}
    return StaticArguments(frozenset(index for index, name in enumerate(free) if name in said), frozenset(said))


def _said(jitted: Call, where: FunctionSymbol, cls: PytreeClass, evaluator: Evaluator) -> StaticArguments:
    """The static arguments that a call of `jit` says, which stands in a method."""
    module, scope = where.module, where.declaration.inner_scope
    transform = TRANSFORMS.get(evaluator.model.resolver.library_name(jitted.func, module, scope))
    if transform is None:
        return StaticArguments(is_known=not names_static(jitted))
    transformed = evaluator.calls.transformed
    applied = transformed.from_call(transform, jitted.at, jitted.args[1:], module, scope)
    compiled = jitted.positional[0] if jitted.positional else None
    found = cls.method(compiled.attr) if isinstance(compiled, Attribute) else None
    if found is not None:
        owner, method = found
        return static_beside_self(transformed.applied_to(method, owner.module, applied, bound=1), method)
    if applied.static_argnums is None or applied.static_argnames is None:
        return StaticArguments(is_known=False)
    return StaticArguments(frozenset(applied.static_argnums), frozenset(applied.static_argnames))


def keys_of(holder: str, cls: PytreeClass, evaluator: Evaluator) -> frozenset[str]:
    """The attributes that methods of the class give to what is kept in `holder` as static arguments."""
    static = static_arguments(holder, cls, evaluator)
    found = set[str]()
    for one in cls.mro if static else ():
        for method in own_methods(one):
            if holder in method.self_reads | method.self_calls:
                body = evaluator.calls.body_of(FunctionSymbol(one.module, method)) or ()
                calls = _calls_of(f"{method.self_name}.{holder}", list(all_parts(body)))
                given = (value for call in calls for value in static.given(call))
                found |= {attr for value in given if (attr := attribute_of(method.self_name, value)) is not None}
    return frozenset(found)


def _calls_of(path: str, every: list[Expr]) -> list[Call]:
    return [part for part in every if isinstance(part, Call) and dotted(part.func) == path]


def may_compile_again(first: Call, second: Call, static: StaticArguments) -> bool:
    """Whether the second of two calls may compile the function again, for it is given something else to compile for.

    A call that stands in a loop comes twice itself: what static arguments it has then may be others each time.
    """
    if [a.keyword for a in first.args] != [a.keyword for a in second.args] or first.has_star or second.has_star:
        return True
    if first is second:
        return any(not isinstance(value, Constant) for value in static.given(first))
    if any(not same(*pair) for pair in zip(static.given(first), static.given(second), strict=True)):
        return True
    return any(_are_unlike(a.value, b.value) for a, b in zip(first.args, second.args, strict=True))


def _are_unlike(one: Expr, other: Expr) -> bool:
    """Whether two arguments are written as constants of other types, or as arrays of other shapes."""
    match one, other:
        case Constant(kind=kind), Constant(kind=another):
            return kind != another
        case Call(positional=(shape, *_)), Call(positional=(another, *_)):
            return last_name(one.func) in _SHAPED and last_name(other.func) in _SHAPED and not same(shape, another)
    return False
