"""Functions inside of a method that are compiled and kept in an attribute of `self`: they close over `self`.

The method keeps them itself, or returns them to the one that does: `self.step = self._build_step()`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.events import CodeRead, Transformed
from jaxlint.rules.analyses.instances.methods import own_methods, text_of
from jaxlint.symbols.outline import Function, SelfAssignment
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Name
from jaxlint.syntax.statements import parts

_COMPILER = "jax.jit"
_NAME = re.compile(r"\b[A-Za-z_]\w*")


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
    if method is None or method.self_name is None:
        return
    scope = method.inner_scope
    names = {a.value.id: a.attr for a in method.self_assignments if isinstance(a.value, Name)}
    holder = _holder_of_result(method, code)
    if holder:
        names |= {value.id: holder for value in method.return_values if isinstance(value, Name)}
    if not names and not method.self_assignments and not holder:
        return
    for event in code.events:
        function = event.function if isinstance(event, Transformed) and event.receiver is None else None
        if not isinstance(event, Transformed) or function is None or function.scope != scope or event.applied.bound:
            continue
        stored = keeping(event, method)
        attribute = holder if stored is None and holder and _is_returned(event, method) else stored and stored.attr
        if event.applied.transform.name == _COMPILER and attribute and not event.applied.is_decorator:
            yield from _reading_self(function, event.at, attribute, method, code)
    for function in code.place.module.outline.functions.values() if names else ():
        if function.scope == scope and function.name in names and function.decorators:
            if any(applied.transform.name == _COMPILER for applied in code.place.applied(function)):
                yield from _reading_self(function, function.at, names[function.name], method, code)


def _holder_of_result(method: Function, code: CodeRead) -> str:
    """The attribute in which another method keeps what this one returns: `self.step = self._build_step()`."""
    owner = code.place.owner
    for cls in owner.mro if owner is not None and method.return_values else ():
        for other in own_methods(cls):
            for assigned in other.self_assignments:
                match assigned.value:
                    case Call(func=Attribute(value=Name(id=own), attr=name)):
                        if own == other.self_name and name == method.name and other is not method:
                            return assigned.attr
    return ""


def _is_returned(event: Transformed, method: Function) -> bool:
    """Whether a method returns the function that one of its calls compiles."""
    place = place_of(event.at)
    return any(place_of(value.at).holds(place) for value in method.return_values)


def keeping(event: Transformed, method: Function) -> SelfAssignment | None:
    """What gives the function that a call of a method compiles to an attribute of `self`."""
    place = place_of(event.at)
    given = (one for one in method.self_assignments if one.value is not None and place_of(one.value.at).holds(place))
    return next(given, None)


def _reading_self(function: Function, at: object, holder: str, method: Function, code: CodeRead) -> Iterator[Closure]:
    """The closure, and what it calls of the functions around it, if they read something of the `self` of a method.

    An outline does not say it of a lambda.
    """
    self_name = method.self_name
    if not function.self_reads and not function.statements:
        every = (part for value in function.return_values for part in parts(value))
        read = (
            p.attr for p in every if isinstance(p, Attribute) and isinstance(p.value, Name) and p.value.id == self_name
        )
        function = msgspec.structs.replace(function, self_reads=frozenset(read))
    if function.self_reads and all(parameter.name != self_name for parameter in function.parameters):
        yield Closure(function, at, holder)
    named = set(_NAME.findall(text_of(function, code.place.module)))
    for other in code.place.module.outline.functions.values():
        is_beside = other.scope == function.scope and other.name in named and other.qualname != function.qualname
        if (is_beside or other.scope == function.inner_scope) and other.self_reads and not other.decorators:
            if all(parameter.name != self_name for parameter in (*function.parameters, *other.parameters)):
                yield Closure(other, other.at, holder)
