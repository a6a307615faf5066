"""Counters of instances that the function around makes itself: outside of loops each call begins from the start."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import FieldEvent, Replace
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name
from jaxlint.syntax.names_read import names_inside
from jaxlint.syntax.statements import Assign, bound_names, walk


def begins_here(event: FieldEvent, field: str, evaluator: Evaluator) -> bool:
    """Whether a copy outside of loops counts on in a variable that the function around has given a new instance.

    The constructor, or a class method, makes that, and is given no number for the field.
    """
    functions, module = event.place.functions, event.place.module
    if not isinstance(event, Replace) or event.in_loop or not isinstance(event.base, Name) or not functions:
        return False
    name, function = event.base.id, functions[-1]
    if any(parameter.name == name for parameter in function.parameters):
        return False
    body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
    binding = [statement for statement in walk(body, nested=False) if name in bound_names(statement)]
    given = [statement.value for statement in binding if isinstance(statement, Assign)]
    begun = [value for value in given if name not in names_inside(value)]
    if not begun or len(given) < len(binding):
        return False
    scope = function.inner_scope
    return all(_is_new(value, field, event.receiver.cls, module, scope, evaluator) for value in begun)


def _is_new(value: Expr, field: str, cls: PytreeClass, module: Module, scope: str, evaluator: Evaluator) -> bool:
    """Whether the constructor of a class, or a class method, makes an instance without a number for a field."""
    if not isinstance(value, Call) or value.has_star or value.keyword(field) is not None:
        return False
    for func in (value.func, value.func.value if isinstance(value.func, Attribute) else value.func):
        if evaluator.model.class_of_symbol(evaluator.model.resolver.resolve(func, module, scope)) is cls:
            return len(value.positional) < [one.name for one in cls.fields].index(field) + 1
    return False
