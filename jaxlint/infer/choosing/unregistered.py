"""Which classes are certainly no pytrees: transformations refuse their instances."""

from __future__ import annotations

from jaxlint.infer.known.values import Container, Instance, Value, options, plain
from jaxlint.libraries.arrays import ARRAY_PROTOCOLS
from jaxlint.project.resolution import External, ValueSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.registrations import REGISTERING
from jaxlint.syntax.expressions import Attribute, Call, Name, Subscript, without_call

#: Bases that do not make a leaf or a container of an instance.
_NEUTRAL_BASES = frozenset({"builtins.object", "typing.Generic", "abc.ABC"})
_MAX_DEPTH = 4


def refused_class(value: Value, model: PytreeModel) -> PytreeClass | None:
    """The class of an instance in a value that transformations certainly refuse, because it is not registered."""
    return _refused(value, model, 0)


def _refused(value: Value, model: PytreeModel, depth: int) -> PytreeClass | None:
    value = plain(value)
    found: list[PytreeClass | None] = []
    match value:
        case Instance(cls=cls, exact=exact):
            return cls if is_unregistered(cls, model, exact=exact) else None
        case Container(kind="tuple" | "list" | "dict", items=items, element=element) if depth < _MAX_DEPTH:
            parts = items if items is not None else (element,)
            return next((r for part in parts if (r := _refused(part, model, depth + 1)) is not None), None)
        case _:
            choices = options(value)
            if len(choices) > 1:
                found = [_refused(option, model, depth + 1) for option in choices]
    return found[0] if found and None not in found else None


def is_unregistered(cls: PytreeClass, model: PytreeModel, *, exact: bool = False) -> bool:
    """Whether an instance of a class (or, unless `exact`, of any of its subclasses) is certainly no pytree."""
    if not exact and (not _holds_something(cls) or cls.abstract_methods):
        return False  # a mixin or an interface
    if not _is_unregistered(cls, model):
        return False  # as most classes are that are asked for, whose subclasses need not be looked for then
    return all(_is_unregistered(one, model) for one in model.family(cls, exact=exact) if one is not cls)


def _holds_something(cls: PytreeClass) -> bool:
    """Whether instances are made for what they hold: a dataclass of constants only is a set of names (`Kind.FIXED`)."""
    if cls.is_dataclass and (cls.fields or not cls.fields_known):
        return True
    return any("__init__" in one.symbol.declaration.methods for one in cls.mro)


def _is_unregistered(cls: PytreeClass, model: PytreeModel) -> bool:
    if cls.is_pytree or cls.registered is not False or not cls.bases_known:
        return False
    if any(map(cls.answers, ARRAY_PROTOCOLS)):
        return False
    return all(_is_neutral(one, model) for one in cls.mro) and not _may_be_registered(cls, model)


def _is_neutral(cls: PytreeClass, model: PytreeModel) -> bool:
    """Whether neither a base, nor a metaclass, nor a hook may register the class, or make something else of it."""
    declaration = cls.symbol.declaration
    if cls.unknown_decorator or declaration.conditional_body or "__init_subclass__" in declaration.methods:
        return False
    for decorator in declaration.decorators:  # `dataclass = struct.dataclass if … else dataclasses.dataclass`
        head = without_call(decorator)
        symbol = model.resolver.resolve(head, cls.module, declaration.scope, follow=False)
        if isinstance(symbol, ValueSymbol) and not isinstance(symbol.assignment.value, (Name, Attribute, Call)):
            return False
    own = (unit for unit in cls.module.outline.units if unit.first <= declaration.at.row <= unit.last)
    called = frozenset().union(*(unit.calls for unit in own))
    if not called.isdisjoint(REGISTERING) or (declaration.scope and any("register" in name for name in called)):
        return False  # `State.register()`, or `register_hitype(State, …)` in the function that declares the class
    visible = {one.symbol for one in cls.parents}
    for base in declaration.bases:
        head = base.value.value if isinstance(base.value, Subscript) else base.value
        symbol = model.resolver.base(head, declaration, cls.module)
        known = isinstance(symbol, External) and symbol.name in _NEUTRAL_BASES
        if base.keyword is not None or base.star or not (known or symbol in visible):
            return False
    return True


def _may_be_registered(cls: PytreeClass, model: PytreeModel) -> bool:
    """Whether something may register the class: here, or in a module that imports it."""
    if model.registrations.may_register(cls.symbol):
        return True
    importing = model.project_index.imports.importing([cls.module.path]) - {cls.module.path}
    return model.registrations.gives_to_registering(importing, cls.symbol)
