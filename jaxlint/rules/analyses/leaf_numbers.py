"""What numbers a leaf is made of, by all constructions and updates that are seen: an annotation says "array" only."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.given_literals import calls_giving, giving
from jaxlint.rules.analyses.library_forms import is_key, number_kind
from jaxlint.symbols.outline import Function, Import
from jaxlint.syntax.expressions import Attribute, Binary, Expr, Name, last_name
from jaxlint.syntax.statements import bound_once, looked_up

#: Arrays of these cannot be differentiated.
_WHAT = {"int": "an array of integers", "bool": "an array of booleans", "key": "a PRNG key"}


def refused_leaf(field: Field, cls: PytreeClass, evaluator: Evaluator) -> str | None:
    """What a leaf is of which each construction and each update that is seen gives no inexact number."""
    if evaluator.model.subclasses(cls):
        return None
    kinds: set[str] = set()
    for module in _users(cls, evaluator):
        names = {cls.name, "cls"}
        seen = 0
        for call, function in calls_giving(field.name, names, module, evaluator):
            seen += last_name(call.func) == cls.name
            value = giving(field, cls, call, names)
            if value is not None and not _steps(value, field):
                kinds.add(_kind(value, function, module, evaluator))
            elif last_name(call.func) in names and value is None and field.default is None:
                return None  # it is not seen what is given
        if seen < sum(cls.name in piece.calls for unit in module.outline.units for piece in unit.pieces or (unit,)):
            return None  # a construction is not seen
    if field.default is not None:
        kinds.add(number_kind(field.default.expr))
    return _WHAT.get(next(iter(kinds))) if len(kinds) == 1 else None


def _users(cls: PytreeClass, evaluator: Evaluator) -> Iterator[Module]:
    """The module of a class, and those that import it from there or from a module that imports it."""
    pending, seen = [cls.module], set[str]()
    while pending:
        module = pending.pop()
        if module.path in seen:
            continue
        seen.add(module.path)
        yield module
        bindings = module.outline.module_scope.bindings.get(cls.name, ())
        if module is cls.module or any(isinstance(binding, Import) for binding in bindings):
            pending += evaluator.model.importers(module)


def _steps(value: Expr, field: Field) -> bool:
    """Whether a value is what the field held, and a whole number more or less."""
    match value:
        case Attribute(attr=attr):
            return attr == field.name
        case Binary(op="+" | "-" | "*" | "//" | "%", left=Attribute(attr=attr), right=right):
            return attr == field.name and number_kind(right) in ("int", "bool")
    return False


def _kind(value: Expr, function: Function | None, module: Module, evaluator: Evaluator) -> str:
    """The kind of numbers that a value is: "int", "float", "bool" or "key"; empty if that is not known."""
    if isinstance(value, Name) and function is not None:
        value = looked_up(value, bound_once(evaluator.calls.body_of(FunctionSymbol(module, function)) or ()))
    return "key" if is_key(value) else number_kind(value)
