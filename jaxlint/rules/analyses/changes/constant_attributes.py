"""Attributes that are only ever given the constant which the constructor gives them, and so never change."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from jaxlint.infer.bodies.slots import changed_by
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol, ValueSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import CONSTRUCTORS, own_methods
from jaxlint.syntax.expressions import Attribute, Call, Constant, Display, Expr, Unary, dotted, last_name
from jaxlint.syntax.statements import Annotate, Assign, Body, own_parts, walk


def is_constant(attr: str, cls: PytreeClass, evaluator: Evaluator, *modules: Module) -> bool:
    """Whether all that is seen to assign an attribute gives it the constant that the constructor gives it.

    Looked at are the methods of the class, of its bases and of what inherits from it, and other code of their modules
    and of `modules`.
    """
    every = {one.symbol.key: one for below in evaluator.model.family(cls) for one in below.mro}
    given: set[Hashable] = set()
    is_given_first = False
    for one in every.values():
        declaration = one.symbol.declaration
        declared = [f.value for f in declaration.fields if f.name == attr]
        bound = [*(v for v in declared if v is not None), *(a.value for a in declaration.assignments if a.name == attr)]
        given.update(_constant(value, one.module, declaration.qualname, evaluator) for value in bound)
        for method in own_methods(one):
            for assignment in method.self_assignments:
                if assignment.attr != attr:
                    continue
                given.add(_constant(assignment.value, one.module, method.inner_scope, evaluator))
                # `__post_init__` may leave some of the values alone that a generated constructor takes
                is_given_first |= method.name in CONSTRUCTORS and (method.name == "__init__" or not declared)
            if len(given) > 1 or None in given:
                return False
    if not is_given_first:
        return False
    around = {module.path: module for module in (*modules, *(one.module for one in every.values()))}
    return all(
        value is not None and value in given
        for module in around.values()
        for value in _given_outside(attr, module, evaluator)
    )


def _given_outside(attr: str, module: Module, evaluator: Evaluator) -> Iterator[Hashable | None]:
    """The constants that a module gives an attribute of anything but the `self` of a method; None for what is none."""
    if f".{attr}" not in module.source.text and "setattr" not in module.source.text:
        return
    bodies: list[tuple[Body, str, str | None]] = [(evaluator.calls.top_level(module), "", None)]
    for function in module.outline.functions.values():
        if "<locals>" not in function.qualname:
            body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
            bodies.append((body, function.inner_scope, function.self_name))
    for body, scope, own in bodies:
        for statement in walk(body):
            places = [slot for _, slot in changed_by(statement) if slot.path[-1:] == (attr,)]
            if any(slot.root != own or len(slot.path) > 1 for slot in places):
                match statement:
                    case Assign(targets=targets, value=value) if all(isinstance(t, Attribute) for t in targets):
                        yield _constant(value, module, scope, evaluator)
                    case Annotate(value=value) if value is not None:
                        yield _constant(value, module, scope, evaluator)
                    case _:
                        yield None
            for call in own_parts(statement):
                if isinstance(call, Call) and last_name(call.func) in ("setattr", "__setattr__"):
                    if any(isinstance(a.value, Constant) and a.value.value == attr for a in call.args[:2]):
                        yield None


def _constant(value: Expr | None, module: Module, scope: str, evaluator: Evaluator) -> Hashable | None:
    """What tells a constant from others; None for what is none, or is not known to be one.

    A constant is a literal, a tuple of constants, or what a module, a class or a library calls by a name.
    """
    match value:
        case Constant(value=literal, kind=kind):
            return kind, literal
        case Unary(op=op, operand=operand):
            inner = _constant(operand, module, scope, evaluator)
            return None if inner is None else (op, inner)
        case Display(kind="tuple", items=items):
            inside = tuple(_constant(item, module, scope, evaluator) for item in items)
            return None if None in inside else ("tuple", *inside)
    if value is None or dotted(value) is None:
        return None
    symbol = evaluator.model.resolver.resolve(value, module, scope)
    match symbol:
        case External(name=name):
            return "name", name
        case ValueSymbol(scope=where) if "<locals>" not in where:
            bound = symbol.assignment.value
            return _constant(bound, symbol.module, where, evaluator) if isinstance(bound, Constant) else symbol.key
        case ClassSymbol() | FunctionSymbol() if "<locals>" not in symbol.key[1]:
            return symbol.key
    return None
