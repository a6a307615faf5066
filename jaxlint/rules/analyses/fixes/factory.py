"""The fix of a `__post_init__` that computes, converts or checks fields: a classmethod does so, once."""

from __future__ import annotations

import re

from jaxlint.cst.changes import CallFactory, Change, MakeFactory, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.pytrees.framework import Unflatten
from jaxlint.pytrees.model import Field, Kind, Placed, PytreeClass
from jaxlint.rules.analyses.changes.returning import is_known_elsewhere, mentions
from jaxlint.rules.analyses.instances.methods import may_have
from jaxlint.rules.analyses.instances.trees_of_axes import TreesOfAxes
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import last_name

_NAME = "make"
#: How a method calls the class without its name.
_OWN_CLASS = re.compile(r"\btype\(|\b__class__\b")


@proposing
def computing_once(
    cls: PytreeClass, function: Function, evaluator: Evaluator, verb: str = "Compute"
) -> Proposal | None:
    """The fix, if all code that makes instances is in the module of the class, which has no subclass or classmethod."""
    found = cls.method("__post_init__")
    if found is None or found[1] is not function or function.owner != cls.symbol.declaration.qualname:
        return None
    if cls.framework.unflatten is Unflatten.CUSTOM or len(function.parameters) != 1 or function.decorators:
        return None
    outline = cls.module.outline
    others = [one for one in outline.functions.values() if one.owner == function.owner]
    if any("classmethod" in map(last_name, one.decorators) for one in others):
        return None  # which may make instances, too
    if any(may_have(_OWN_CLASS, one, cls.module) for one in others if one is not function):
        return None
    parameters = _parameters(cls)
    if parameters is None or cls.method(_NAME) is not None or cls.field(_NAME) is not None:
        return None
    if evaluator.model.subclasses(cls) or is_known_elsewhere(cls.name, cls.module, evaluator):
        return None
    fields = tuple(field.name for field in cls.members)
    changes: list[Change] = [MakeFactory(function.at, _NAME, fields, parameters, f'"{cls.name}"')]
    trees = TreesOfAxes(cls.module, evaluator)
    for at in mentions(cls.name, cls.module, r"\b"):
        is_of_axes = trees.has(at)
        if is_of_axes is None:
            return None
        if not is_of_axes:
            changes.append(CallFactory(at, _NAME))
    return Proposal(f"{verb} in a classmethod, `{cls.name}.{_NAME}`", Applicability.UNSAFE, tuple(changes))


def _parameters(cls: PytreeClass) -> tuple[str, ...] | None:
    """The parameters of the constructor as they would be written in a function; None if that is not plain."""
    if len(cls.mro) != 1 or not cls.fields_known or cls.unknown_decorator or cls.custom_init() is not None:
        return None
    written = [_parameter(field, cls) for field in cls.members]
    if any(one is None for one in written):
        return None
    plain = [one for one in written if one is not None]
    after = next((n for n, one in enumerate(plain) if " = " in one), len(plain))
    return tuple(plain) if all(" = " in one for one in plain[after:]) else None


def _parameter(field: Field, cls: PytreeClass) -> str | None:
    """A field as a parameter."""
    if field.kind is not Kind.FIELD or not field.init or field.opaque or field.factory is not None:
        return None
    annotation = _text(field.annotation, cls)
    default = None if field.default is None else _text(field.default, cls)
    if annotation is None or (field.default is not None and default is None):
        return None
    return f"{field.name}: {annotation}" + ("" if default is None else f" = {default}")


def _text(placed: Placed | None, cls: PytreeClass) -> str | None:
    """An expression of the module of a class, if it stands in one line."""
    if placed is None or placed.module is not cls.module:
        return None
    source = cls.module.source
    place = source.codepoints(place_of(placed.expr.at))
    if place.row != place.end_row:
        return None
    return source.line(place.row)[place.column : place.end_column]
