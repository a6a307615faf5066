"""What a class puts in the place of the type variables of its bases: `class Mine(Runner[State])`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, Resolver, ValueSymbol
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.syntax.expressions import Call, Expr, Name, Subscript, items_of

_GENERIC = frozenset({"typing.Generic", "typing.Protocol"})
_MAX_STEPS = 8


#: What identifies a type variable: that of its declaration, or path, class and name of a type parameter.
Key: TypeAlias = tuple[str, str]


def type_parameter(name: str, module: Module, scope: str) -> Key | None:
    """The type parameter `S` of `class Runner[S]` that a name in the class, or further in, stands for."""
    place: str | None = scope
    while place:
        declared = module.outline.classes.get(place)
        if declared is not None and name in declared.type_parameters:
            return module.path, f"{place}[{name}]"
        inner = module.outline.scopes.get(place)
        place = None if inner is None else inner.parent
    return None


def type_argument(variable: Key, owner: PytreeClass, resolver: Resolver) -> Placed | None:
    """What stands for a type variable where `owner` is concerned; None if nothing does, or another variable."""
    for _ in range(_MAX_STEPS):
        given = next((p for key, p in _arguments(owner, resolver) if key == variable), None)
        if given is None:
            return None
        another = _variable(given, resolver)
        if another is None:
            return given
        variable = another
    return None


def attributes_given(cls: PytreeClass, items: Sequence[Expr], resolver: Resolver) -> Iterator[tuple[str, Expr]]:
    """The attributes of instances of `cls[items]` that are of the type of one item, with that: `state: T`."""
    given = dict(zip(_variables(cls, resolver), items, strict=False))
    if not given:
        return
    declared = {**_by_constructor(cls), **cls.annotations}
    for attr, placed in sorted(declared.items()):
        variable = _variable(placed, resolver)
        if variable in given:
            yield attr, given[variable]


def _by_constructor(cls: PytreeClass) -> dict[str, Placed]:
    """The annotations of parameters that the constructor of a class stores as they are, by the attributes."""
    found = cls.method("__init__")
    if found is None:
        return {}
    owner, function = found
    annotations = {p.name: p.annotation for p in function.parameters if p.annotation is not None}
    stored = ((attr, given[0].expr) for attr, given in cls.assigned.items() if len(given) == 1 and given[0] is not None)
    return {
        attr: Placed(annotations[expr.id], owner.module, function.scope)
        for attr, expr in stored
        if isinstance(expr, Name) and expr.id in annotations
    }


def _arguments(owner: PytreeClass, resolver: Resolver) -> Iterator[tuple[Key, Placed]]:
    """The type variables of all ancestors, by key, and what they are given."""
    family = {ancestor.symbol.key: ancestor for ancestor in owner.mro}
    for cls in owner.mro:
        for head, items in _subscripted(cls):
            symbol = resolver.resolve(head, cls.module, cls.symbol.declaration.scope)
            parent = family.get(symbol.key) if isinstance(symbol, ClassSymbol) else None
            if parent is not None:
                for key, item in zip(_variables(parent, resolver), items, strict=False):
                    yield key, _in_bases(item, cls)


def _variables(cls: PytreeClass, resolver: Resolver) -> list[Key]:
    """The type variables of a class in the order in which they are given."""
    declared = cls.symbol.declaration
    if declared.type_parameters:
        return [(cls.module.path, f"{declared.qualname}[{name}]") for name in declared.type_parameters]
    found: list[Key] = []
    for head, items in _subscripted(cls):
        keys = [key for item in items if (key := _variable(_in_bases(item, cls), resolver)) is not None]
        base = resolver.resolve(head, cls.module, cls.symbol.declaration.scope)
        if isinstance(base, External) and base.name in _GENERIC:
            return keys
        found += [key for key in keys if key not in found]
    return found


def _in_bases(item: Expr, cls: PytreeClass) -> Placed:
    """A type argument of a base of a class, whose own type parameters it may name."""
    declared = cls.symbol.declaration
    return Placed(item, cls.module, declared.qualname if declared.type_parameters else declared.scope)


def _subscripted(cls: PytreeClass) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
    """The bases of a class that are given type arguments, with these."""
    for base in cls.symbol.declaration.bases:
        if base.keyword is None and isinstance(base.value, Subscript):
            index = base.value.index
            yield base.value.value, items_of(index)


def _variable(placed: Placed, resolver: Resolver) -> Key | None:
    """The type variable that an annotation or a type argument is: a `TypeVar`, or a type parameter."""
    if isinstance(placed.expr, Name):
        parameter = type_parameter(placed.expr.id, placed.module, placed.scope)
        if parameter is not None:
            return parameter
    symbol = resolver.resolve(placed.expr, placed.module, placed.scope)
    value = symbol.assignment.value if isinstance(symbol, ValueSymbol) else None
    if not isinstance(symbol, ValueSymbol) or not isinstance(value, Call):
        return None
    made = resolver.resolve(value.func, symbol.module, symbol.scope)
    return symbol.key if isinstance(made, External) and made.name == "typing.TypeVar" else None
