"""Instances with tracers as leaves, and which calls give a copy of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import msgspec

from jaxlint.infer.known.values import Instance, Value
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Display,
    Expr,
    Lambda,
    Name,
    Subscript,
    items_of,
    last_name,
    selected_by,
)


class Traced(msgspec.Struct, frozen=True):
    """An instance that is traced, but for the fields that a copy of it was given anew."""

    value: Instance
    replaced: frozenset[str] = frozenset()


def runs_plainly(symbol: FunctionSymbol) -> bool:
    """Whether a call runs the body of a function of a module, and gives what it returns."""
    function = symbol.declaration
    return not (function.owner or function.scope or function.decorators or function.is_generator or function.is_async)


def is_pytree(value: Value) -> TypeGuard[Instance]:
    """Whether a value is an instance of a pytree class."""
    return isinstance(value, Instance) and value.cls.is_pytree


def copied(call: Call, cls: PytreeClass) -> Expr | None:
    """What a call makes a copy of, with all fields as they were but for those that it names: an instance of a class."""
    if last_name(call.func) == "tree_at":
        return call.positional[1] if len(call.positional) > 1 and any(given_anew(call)) else None
    if any(argument.star or (argument.keyword is None and argument is not call.args[0]) for argument in call.args):
        return None
    func = call.func
    if isinstance(func, Attribute) and not call.positional:
        return func.value if func.attr == cls.framework.replace_method and cls.has_framework_replace else None
    return call.args[0].value if call.positional and last_name(func) == "replace" else None


def given_anew(copying: Call) -> Iterator[tuple[str, Expr | None]]:
    """The fields that a copy is given anew, and what each is given if that is written out; nothing if they are unknown.

    What `eqx.tree_at` puts deep into a field counts as another value of the field.
    """
    if last_name(copying.func) != "tree_at":
        yield from ((a.keyword, a.value) for a in copying.args if a.keyword is not None)
        return
    where = copying.positional[0]
    root, items = selected_by(where) or ("", ())
    firsts = [_first_step(item, root) for item in items]
    put = copying.positional[2] if len(copying.positional) > 2 else copying.keyword("replace")
    is_one = isinstance(where, Lambda) and not isinstance(where.body, Display)
    values = () if put is None else (put,) if is_one else items_of(put)
    if None not in firsts:
        for place, (item, first) in enumerate(zip(items, firsts, strict=True)):
            if first is not None:
                yield first.attr, values[place] if item is first and len(values) == len(items) else None


def _first_step(chain: Expr, name: str) -> Attribute | None:
    """The attribute of a variable with which a chain of attributes and items begins."""
    while isinstance(chain, (Attribute, Subscript)):
        if isinstance(chain, Attribute) and isinstance(chain.value, Name) and chain.value.id == name:
            return chain
        chain = chain.value
    return None
