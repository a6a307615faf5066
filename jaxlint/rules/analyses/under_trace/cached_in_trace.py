"""Instances around a compiled function that computes what they cache: they go on to hold a tracer."""

from __future__ import annotations

from collections.abc import Container, Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Array, FunctionValue, plain
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import caching, run_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Name, is_variable
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import Body, all_parts, assigned_names, bound_once, is_own

#: The modules of functions that compute arrays.
_COMPUTING = ("jax.numpy.", "jax.scipy.", "jax.lax.", "jax.nn.")


class Leaked(msgspec.Struct, frozen=True):
    """A cached_property that is computed while a function is traced, and read behind that."""

    at: object
    attr: str
    #: The method of the instance by which the function reads it, if it does not itself.
    by: str


def leaked_caches(
    handle: str, params: Container[str], body: Body, name: str, cls: PytreeClass, outer: Body, evaluator: Evaluator
) -> Iterator[Leaked]:
    """What a compiled function is the first to compute of an instance in a variable of the body around it."""
    if is_own(name, params, body) or (name in assigned_names(outer) and name not in bound_once(outer)):
        return
    inside = list(_read(name, body, cls, evaluator, nested=True))
    if not inside:
        return
    called = [place_of(part.at).row for part in all_parts(outer, nested=False) if is_variable(handle, part)]
    if not called:
        return
    outside = list(_read(name, outer, cls, evaluator, nested=False))
    for found in inside:
        rows = [place_of(other.at).row for other in outside if other.attr == found.attr]
        if rows and min(rows) > min(called):
            yield found
            return


def _read(name: str, body: Body, cls: PytreeClass, evaluator: Evaluator, *, nested: bool) -> Iterator[Leaked]:
    """Where a body reads a cached_property of the instance in a variable, itself or by a method."""
    read = {id(one) for one in reads(body, name)}
    for part in all_parts(body, nested=nested):
        match part:
            case Attribute(value=Name() as held, attr=attr) if id(held) in read:
                pass
            case Call(func=Name() as held) if id(held) in read:
                attr = "__call__"
            case _:
                continue
        found = cls.method(attr)
        if found is None:
            continue
        if _is_cached(found[1], found[0], evaluator):
            yield Leaked(part.at, attr, "")
            continue
        for inner in run_by(found[1], cls):
            owner = cls.method(inner)
            if owner is not None and _is_cached(owner[1], owner[0], evaluator):
                yield Leaked(part.at, inner, attr)


def _is_cached(function: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether what a method computes is kept in the instance, and is certainly an array that jax computes."""
    if caching(function, cls, evaluator) is None:
        return False
    resolver = evaluator.model.resolver
    if any(isinstance(value, Attribute) for value in function.return_values):
        return False  # what a field holds is no tracer
    called = [value.func for value in function.return_values if isinstance(value, Call)]
    names = [resolver.library_name(func, cls.module, function.inner_scope) for func in called]
    if names and len(names) == len(function.return_values) and all(name.startswith(_COMPUTING) for name in names):
        return True
    value = plain(evaluator.calls.returned(FunctionValue(FunctionSymbol(cls.module, function))))
    return isinstance(value, Array) and value.library == "jax"
