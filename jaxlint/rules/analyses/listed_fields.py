"""Fields of records that hold a list, a dict or a set in every instance that the project is seen to make."""

from __future__ import annotations

import re

from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.promises import made_by_defaults
from jaxlint.infer.values import Container, plain
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.given_literals import around, calls_giving, giving
from jaxlint.syntax.expressions import Comprehension, DictDisplay, Display, Expr, Name, last_name

_KINDS = frozenset({"list", "dict", "set"})
#: Methods that may put something else into a field than the constructor is given.
_CONSTRUCTING = ("__init__", "__new__", "__post_init__", "__getattribute__", "__setattr__")


def held_kind(field: Field, cls: PytreeClass, evaluator: Evaluator) -> str | None:
    """What a field certainly holds by its default, and by all that the project gives it: "list", "dict" or "set".

    None where nothing makes an instance, or some constructor is given arguments that are not seen.
    """
    if field.is_converted or any(cls.method(name) for name in _CONSTRUCTING):
        return None
    if len(list(evaluator.model.family(cls, exact=False))) > 1:
        return None
    kinds, names, is_made = set(_by_default(field, evaluator)), {cls.name}, False
    assigned = re.compile(rf"\.{re.escape(field.name)}\s*(?::[^=\n]*)?=(?!=)|setattr\(")
    for module in around(cls, evaluator):
        if assigned.search(module.source.text):
            return None
        for call, _ in calls_giving(field.name, names, module, evaluator):
            is_construction = last_name(call.func) in names
            if is_construction and call.has_star:
                return None
            is_made = is_made or is_construction
            value = giving(field, cls, call, names)
            if value is not None:
                kinds.add(_written(value))
    kind = kinds.pop() if len(kinds) == 1 else None
    return kind if is_made and kind in _KINDS else None


def _by_default(field: Field, evaluator: Evaluator) -> list[str | None]:
    """What the default is; nothing if there is none."""
    if field.factory is not None and isinstance(field.factory.expr, Name):
        return [field.factory.expr.id]
    made = made_by_defaults(field)
    if not made:
        return [] if field.has_default is False else [None]
    values = [plain(evaluator.static(placed)) for placed in made]
    return [value.kind if isinstance(value, Container) and not value.declared else None for value in values]


def _written(expr: Expr) -> str | None:
    """What an expression makes, if it is a display, a comprehension, or a call of the type."""
    match expr:
        case Display(kind=kind) | Comprehension(kind=kind):
            return kind
        case DictDisplay():
            return "dict"
    return None
