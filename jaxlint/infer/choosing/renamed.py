"""Names under which a module has functions that update or write."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable

from jaxlint.libraries.updates import MUTABLE_COPY
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol, Resolver
from jaxlint.symbols.bodies import shows_body
from jaxlint.symbols.outline import (
    UPDATING,
    Assignment,
    Binding,
    Import,
    Scope,
)
from jaxlint.syntax.expressions import Attribute, Name, dotted

#: Calls that may be an update or a write, by the last part of what is called.
UPDATES = frozenset(
    {
        "setattr",
        "delattr",
        "__setattr__",
        "__delattr__",
        "apply_gradients",
        "apply_fn",
        "create",
        MUTABLE_COPY,
        *UPDATING,
    }
)


def renamed_updates(scopes: Iterable[Scope]) -> frozenset[str]:
    """The names of functions that update or write in some scopes (`from dataclasses import replace as r`)."""
    return frozenset([name for s in scopes for name, found in s.bindings.items() for b in found if _is_update(b)])


def fills_parameter(
    name: str, module: Module, resolver: Resolver, changing: Collection[str], *, calls: bool = True
) -> bool:
    """Whether a name is that of a function, of a module or imported, that changes what it is given: `push(buffer, x)`.

    It does so itself, by a method of one of the names of `changing`, or by another such function. Of another module it
    is asked what that shows to others.
    """
    function, home = module.outline.functions.get(name), module
    if function is None:
        if not any(type(binding) is Import for binding in module.outline.module_scope.bindings.get(name, ())):
            return False
        symbol = resolver.follow(resolver.resolve_name(name, module))
        if not isinstance(symbol, FunctionSymbol) or not shows_body(symbol.declaration, symbol.module.outline):
            return False
        function, home = symbol.declaration, symbol.module
    units = home.outline.units
    unit = units[bisect_right(units, function.at.row, key=lambda unit: unit.first) - 1]
    if any(parameter.name in unit.mutations for parameter in function.parameters):
        return True
    if not unit.discards.isdisjoint(changing):
        return True
    return calls and any(fills_parameter(one, home, resolver, changing, calls=False) for one in unit.discards)


def _is_update(binding: Binding) -> bool:
    """Whether a name is bound to a function that updates or writes, under whatever name."""
    if type(binding) is Import:
        return binding.name in UPDATES
    if type(binding) is not Assignment:
        return False
    value = binding.value
    if type(value) is Attribute:
        return value.attr in UPDATES and dotted(value) is not None
    return type(value) is Name and value.id in UPDATES
