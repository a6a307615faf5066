"""Instances with tracers as leaves, and which calls give a copy of one."""

from __future__ import annotations

from typing import TypeGuard

import msgspec

from jaxlint.infer.known.values import Instance, Value
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.expressions import Attribute, Call, Expr, last_name


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
    if any(argument.star or (argument.keyword is None and argument is not call.args[0]) for argument in call.args):
        return None
    func = call.func
    if isinstance(func, Attribute) and not call.positional:
        return func.value if func.attr == cls.framework.replace_method and cls.has_framework_replace else None
    return call.args[0].value if call.positional and last_name(func) == "replace" else None
