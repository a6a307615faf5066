"""Attributes of `self` that all instances share, because a class body or the default of a parameter made them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Container, is_classmethod, plain
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.rules.analyses.instances.methods import own_methods
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Expr, Name, Subscript, last_name
from jaxlint.syntax.statements import bound_names, walk

_KINDS = {"list": "a list", "dict": "a dict", "set": "a set"}


class Shared(msgspec.Struct, frozen=True):
    """What is made once, where, what it is, and the way out."""

    at: object
    what: str
    way_out: str
    #: Whether it may be shared on purpose, as a cache is.
    may_be_meant: bool = False


def attributes_shared(cls: PytreeClass, evaluator: Evaluator) -> Iterator[Shared]:
    """The attributes that methods change in place through `self`, though no instance has one of its own."""
    if not cls.is_pytree or cls.framework.is_tuple:
        return
    made, init = list(_made_in_body(cls, evaluator)), _init_with_defaults(cls)
    if not made and init is None:
        return
    family = evaluator.model.family(cls)
    added = set() if cls.frozen else {name for one in family for name in _added_to(one)}
    changed = added.union(*map(_changed, {one.symbol.key: one for member in family for one in member.mro}.values()))
    if changed:
        own = {name for one in family for name in one.assigned} - added
        yield from _of_body(cls, made, changed - own)
        if init is not None:
            yield from _of_parameters(cls, init, changed, evaluator)


def _changed(cls: PytreeClass) -> Iterator[str]:
    """The names of what the methods that a class declares change in place through `self`."""
    for method in own_methods(cls):
        if method.self_mutations and not is_classmethod(method):
            yield from method.self_mutations


def _added_to(cls: PytreeClass) -> Iterator[str]:
    """The names of what methods add to, and do nothing else with: `self.names += [name]` changes what all have, too."""
    modules = {one.module.path: one.module for one in cls.mro}.values()
    for name, given in cls.assigned.items():
        adds = re.compile(rf"\.{re.escape(name)}\s*\+=")
        if not any(given) and sum(len(adds.findall(one.source.text)) for one in modules) == len(given):
            yield name


def _made_in_body(cls: PytreeClass, evaluator: Evaluator) -> Iterator[tuple[str, Expr, str]]:
    """What a class body makes that changes in place: the name, what makes it, and what it is."""
    for name, value in _bound(cls):
        if value is None:
            continue
        kind = _kind(Placed(value, cls.module, cls.symbol.declaration.qualname), evaluator)
        if kind is not None:
            yield name, value, kind


def _of_body(cls: PytreeClass, made: list[tuple[str, Expr, str]], changed: set[str]) -> Iterator[Shared]:
    """Of what the class body makes that which is changed, and no method of the class or of a subclass sets."""
    for name, value, kind in made:
        if name in changed and not _is_reached_by_class(name, cls):
            what = f"`{name}` in the body of `{cls.name}` is {_KINDS[kind]}"
            yield Shared(value.at, what, f"set `self.{name}` in `__init__`", may_be_meant=kind != "list")


def _bound(cls: PytreeClass) -> Iterator[tuple[str, Expr | None]]:
    """The names that a class body binds and that are no fields."""
    declaration = cls.symbol.declaration
    for assignment in declaration.assignments:
        yield assignment.name, assignment.value
    for declared in () if cls.is_dataclass else declaration.fields:
        annotation = declared.annotation
        inner = annotation.value if isinstance(annotation, Subscript) else annotation
        if last_name(inner) != "ClassVar":
            yield declared.name, declared.value


def _is_reached_by_class(name: str, cls: PytreeClass) -> bool:
    """Whether it is reached through the class, too, or holds instances: that is meant for all of them."""
    through = rf"\b(?:cls|__class__|type\(\w+\)|{re.escape(cls.name)})\.{re.escape(name)}\b"
    holds = rf"\.{re.escape(name)}\.\w+\((?:[^()]*,\s*)?self\)|\.{re.escape(name)}\[self\b"
    return re.search(f"{through}|{holds}", cls.module.source.text) is not None


def _init_with_defaults(cls: PytreeClass) -> Function | None:
    """The constructor that a class declares itself, if a parameter of it has a default."""
    qualnames = cls.symbol.declaration.methods.get("__init__", ())
    init = cls.module.outline.functions[qualnames[-1]] if qualnames else None
    return init if init is not None and any(p.default is not None for p in init.parameters) else None


def _of_parameters(cls: PytreeClass, init: Function, changed: set[str], evaluator: Evaluator) -> Iterator[Shared]:
    """The defaults that `__init__` keeps as they are."""
    assigned = (a for a in init.self_assignments if a.attr in changed)
    by_parameter = {a.value.id: a.attr for a in assigned if isinstance(a.value, Name)}
    for parameter in init.parameters:
        attr, default = by_parameter.get(parameter.name), parameter.default
        if attr is None or default is None:
            continue
        kind = _kind(Placed(default, cls.module, init.scope), evaluator)
        if kind is not None and not _is_bound(parameter.name, init, cls, evaluator):
            what = f"the default of `{parameter.name}` of `{cls.name}` is {_KINDS[kind]} that `self.{attr}` keeps"
            yield Shared(default.at, what, "use `None`, and make one in `__init__`")


def _kind(made: Placed, evaluator: Evaluator) -> str | None:
    """What changes in place that an expression makes."""
    value = plain(evaluator.static(made))
    if not isinstance(value, Container) or value.declared or value.kind not in _KINDS:
        return None
    return value.kind


def _is_bound(name: str, init: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether `__init__` gives a parameter another value, as in `parts = list(parts)`; or cannot be seen."""
    body = evaluator.calls.body_of(FunctionSymbol(cls.module, init))
    return body is None or any(name in bound_names(statement) for statement in walk(body, nested=False))
