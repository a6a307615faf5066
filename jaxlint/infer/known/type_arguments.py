"""What a class puts in the place of the type variables of its bases: `class Mine(Runner[State])`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxlint.project.resolution import ClassSymbol, External, Resolver, ValueSymbol
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.syntax.expressions import Call, Expr, Name, Subscript, items_of

_GENERIC = frozenset({"typing.Generic", "typing.Protocol"})
_MAX_STEPS = 8


def type_argument(variable: ValueSymbol, owner: PytreeClass, resolver: Resolver) -> Placed | None:
    """What stands for a type variable where `owner` is concerned; None if nothing does, or another variable."""
    for _ in range(_MAX_STEPS):
        given = next((p for key, p in _arguments(owner, resolver) if key == variable.key), None)
        if given is None:
            return None
        symbol = resolver.resolve(given.expr, given.module, given.scope)
        if not isinstance(symbol, ValueSymbol) or not _is_variable(symbol, resolver):
            return given
        variable = symbol
    return None


def attributes_given(cls: PytreeClass, items: Sequence[Expr], resolver: Resolver) -> Iterator[tuple[str, Expr]]:
    """The attributes of instances of `cls[items]` that are of the type of one item, with that: `state: T`."""
    given = dict(zip(_variables(cls, resolver), items, strict=False))
    if not given:
        return
    declared = {**_by_constructor(cls), **cls.annotations}
    for attr, placed in sorted(declared.items()):
        symbol = resolver.resolve(placed.expr, placed.module, placed.scope)
        if isinstance(symbol, ValueSymbol) and symbol.key in given:
            yield attr, given[symbol.key]


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


def _arguments(owner: PytreeClass, resolver: Resolver) -> Iterator[tuple[tuple[str, str], Placed]]:
    """The type variables of all ancestors, by key, and what they are given."""
    family = {ancestor.symbol.key: ancestor for ancestor in owner.mro}
    for cls in owner.mro:
        for head, items in _subscripted(cls):
            symbol = resolver.resolve(head, cls.module, cls.symbol.declaration.scope)
            parent = family.get(symbol.key) if isinstance(symbol, ClassSymbol) else None
            if parent is not None:
                for key, item in zip(_variables(parent, resolver), items, strict=False):
                    yield key, Placed(item, cls.module, cls.symbol.declaration.scope)


def _variables(cls: PytreeClass, resolver: Resolver) -> list[tuple[str, str]]:
    """The type variables of a class in the order in which they are given."""
    found: list[tuple[str, str]] = []
    for head, items in _subscripted(cls):
        symbols = [resolver.resolve(item, cls.module, cls.symbol.declaration.scope) for item in items]
        keys = [s.key for s in symbols if isinstance(s, ValueSymbol) and _is_variable(s, resolver)]
        base = resolver.resolve(head, cls.module, cls.symbol.declaration.scope)
        if isinstance(base, External) and base.name in _GENERIC:
            return keys
        found += [key for key in keys if key not in found]
    return found


def _subscripted(cls: PytreeClass) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
    """The bases of a class that are given type arguments, with these."""
    for base in cls.symbol.declaration.bases:
        if base.keyword is None and isinstance(base.value, Subscript):
            index = base.value.index
            yield base.value.value, items_of(index)


def _is_variable(symbol: ValueSymbol, resolver: Resolver) -> bool:
    """Whether a variable is a `TypeVar`."""
    value = symbol.assignment.value
    if not isinstance(value, Call):
        return False
    made = resolver.resolve(value.func, symbol.module, symbol.scope)
    return isinstance(made, External) and made.name == "typing.TypeVar"
