"""Functions inside of a method that are compiled and kept in an attribute of `self`: they close over `self`."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.events import CodeRead, Transformed
from jaxlint.symbols.outline import Function, SelfAssignment
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Name
from jaxlint.syntax.statements import parts

_COMPILER = "jax.jit"


class Closure(msgspec.Struct, frozen=True):
    """A function that reads attributes of the `self` around it, its place, and the attribute that keeps it compiled."""

    function: Function
    at: object
    holder: str


def stored_closures(code: CodeRead) -> list[Closure]:
    """The functions that a method compiles and keeps, if they read attributes of its `self`."""
    if stored_closures not in code.shared:
        code.shared[stored_closures] = list(_closures(code))
    found: list[Closure] = code.shared[stored_closures]
    return found


def _closures(code: CodeRead) -> Iterator[Closure]:
    method = code.function
    if method is None or method.self_name is None or not method.self_assignments:
        return
    scope = method.inner_scope
    names = {a.value.id: a.attr for a in method.self_assignments if isinstance(a.value, Name)}
    for event in code.events:
        function = event.function if isinstance(event, Transformed) and event.receiver is None else None
        if not isinstance(event, Transformed) or function is None or function.scope != scope or event.applied.bound:
            continue
        stored = keeping(event, method)
        if event.applied.transform.name == _COMPILER and stored is not None and not event.applied.is_decorator:
            yield from _reading_self(function, event.at, stored.attr, method.self_name)
    for function in code.place.module.outline.functions.values() if names else ():
        if function.scope == scope and function.name in names and function.decorators:
            if any(applied.transform.name == _COMPILER for applied in code.place.applied(function)):
                yield from _reading_self(function, function.at, names[function.name], method.self_name)


def keeping(event: Transformed, method: Function) -> SelfAssignment | None:
    """What gives the function that a call of a method compiles to an attribute of `self`."""
    place = place_of(event.at)
    given = (one for one in method.self_assignments if one.value is not None and place_of(one.value.at).holds(place))
    return next(given, None)


def _reading_self(function: Function, at: object, holder: str, self_name: str) -> Iterator[Closure]:
    """The closure, if it reads something of `self`; an outline does not say it of a lambda."""
    if not function.self_reads and not function.statements:
        every = (part for value in function.return_values for part in parts(value))
        read = (
            p.attr for p in every if isinstance(p, Attribute) and isinstance(p.value, Name) and p.value.id == self_name
        )
        function = msgspec.structs.replace(function, self_reads=frozenset(read))
    if function.self_reads and all(parameter.name != self_name for parameter in function.parameters):
        yield Closure(function, at, holder)
