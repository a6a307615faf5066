"""What code that is seen puts into a field, where it is written out: an annotation may say something else."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.symbols.outline import Assignment, Function
from jaxlint.syntax.expressions import Call, Constant, Display, Expr, Unary, last_name
from jaxlint.syntax.statements import all_parts, parts

_UPDATES = frozenset({"replace", "_replace", "evolve"})
_NUMBERS = frozenset({"int", "float", "bool", "complex"})


def calls_in(module: Module, evaluator: Evaluator) -> Iterator[tuple[Call, Function | None]]:
    """The calls in the functions of a module, and those that make what its variables hold or stand alone in it.

    With each comes the function in which it stands.
    """
    outline = module.outline
    bound = (binding for bindings in outline.module_scope.bindings.values() for binding in bindings)
    values = [binding.value for binding in bound if isinstance(binding, Assignment) and binding.value is not None]
    for expr in (*values, *outline.module_calls):
        yield from ((part, None) for part in parts(expr) if isinstance(part, Call))
    for function in outline.functions.values():
        if "<locals>" not in function.scope:
            body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
            yield from ((part, function) for part in all_parts(body) if isinstance(part, Call))


def is_given_number(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a construction or update gives the field a number, or a tuple of some."""
    return any(map(_is_number, _given(field, cls, evaluator)))


def is_given(kinds: frozenset[str], field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a construction or update gives the field a constant of one of some kinds (`NoneType`, `float`, …)."""
    return any(isinstance(expr, Constant) and expr.kind in kinds for expr in _given(field, cls, evaluator))


def is_given_tuple(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a construction or update gives the field a tuple."""
    return any(isinstance(expr, Display) and expr.kind == "tuple" for expr in _given(field, cls, evaluator))


def is_updated(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an update is seen that gives the field another value than a constant."""
    calls = (call for module in _around(cls, evaluator) for call, _ in calls_in(module, evaluator))
    given = [call.keyword(field.name) for call in calls if last_name(call.func) in _UPDATES]
    return any(value is not None and not isinstance(value, Constant) for value in given)


def _around(cls: PytreeClass, evaluator: Evaluator) -> tuple[Module, ...]:
    """The module of the class, and those that import it."""
    return (cls.module, *evaluator.model.importers(cls.module))


def _is_number(expr: Expr) -> bool:
    match expr:
        case Constant(kind=kind):
            return kind in _NUMBERS
        case Unary(operand=operand):
            return _is_number(operand)
        case Display(kind="tuple", items=items):
            return bool(items) and all(map(_is_number, items))
    return False


def _given(field: Field, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Expr]:
    """What the module of the class, and those that import it, are seen to put into a field."""
    names = {cls.name, *({"cls"} if cls.custom_init() is None else ())}
    index = next((i for i, one in enumerate(f for f in cls.fields if f.init) if one.name == field.name), None)
    for module in _around(cls, evaluator):
        for call, _ in calls_in(module, evaluator):
            name = last_name(call.func)
            if name not in names and name not in _UPDATES:
                continue
            value = call.keyword(field.name)
            if value is not None:
                yield value
            elif name in names and cls.custom_init() is None and index is not None and not call.has_star:
                yield from call.positional[index : index + 1]
