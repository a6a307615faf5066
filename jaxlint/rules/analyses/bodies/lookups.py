"""Whether code asks what an instance has, or what it is, before it updates a field that its class does not declare."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CallMethod, Place, Replace
from jaxlint.infer.known.values import Instance
from jaxlint.libraries.updates import COPYING_NAMES
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.missing_members import misses_attribute
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.pytrees.updating import is_train_state, taken_by_method
from jaxlint.rules.analyses.bodies.around import outermost_body
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    BoolOp,
    Call,
    Compare,
    Constant,
    Expr,
    Name,
    Subscript,
    children,
    dotted,
    same,
)
from jaxlint.syntax.statements import Annotate, Assign, Body, If, Try, all_parts, blocks, bound_by, own_parts, walk

if TYPE_CHECKING:
    from jaxlint.project.modules import Module

#: Functions that tell whether an instance has a field, or which ones.
_LOOKING = frozenset({"asdict", "fields", "getattr", "hasattr", "vars"})


def is_looked_up(update: Replace, field: str, evaluator: Evaluator) -> bool:
    """Whether the code around an update may ask for a field: then the instance may be of another class, which has it.

    Of code outside of functions only the names of what it calls are known.
    """
    place, base = update.place, "" if update.base is None else dotted(update.base) or ""
    if place.functions:
        body = evaluator.calls.body_of(FunctionSymbol(place.module, place.functions[0])) or ()
        if _tries(body, field):
            return True
        if not update.receiver.exact and (
            _keeps_class(body, base) or _is_read_as_other(update, field, body, evaluator)
        ):
            return True
        return any(_names_field(part, field, base) for part in all_parts(body))
    units = place.module.outline.units
    return any(unit.kind == "code" and not unit.calls.isdisjoint(_LOOKING) for unit in units)


def is_method_asked_for(call: CallMethod, evaluator: Evaluator) -> bool:
    """Whether the function asks the instance if it has the method that is called, in whatever way it goes on then."""
    place, func = call.place, call.call.func
    base = dotted(func.value) if isinstance(func, Attribute) else None
    if base is None or not place.functions:
        return False
    body = evaluator.calls.body_of(FunctionSymbol(place.module, place.functions[0])) or ()
    asked = (held for part in all_parts(body) if (held := _asked(part, call.name)) is not None)
    return any(dotted(held) == base for held in asked)


def is_asked_first(call: Call, name: str, place: Place, evaluator: Evaluator) -> bool:
    """Whether a class is only called where an instance of it was asked if it has an attribute of that name."""
    tests = _tests_above(call, outermost_body(place, evaluator)) or ()
    asked = {dotted(held) for test in tests if (held := _asked(test, name)) is not None} - {None}
    return any(_is_instance_test(test, call.func) in asked for test in tests)


def _tests_above(call: Call, body: Body) -> tuple[Expr, ...] | None:
    """The tests that hold where a call stands, or `None` if it does not stand below the body."""
    for statement in body:
        if any(isinstance(part, Call) and place_of(part.at) == place_of(call.at) for part in own_parts(statement)):
            return ()
        tested = dict(enumerate(test for test, _ in statement.branches)) if isinstance(statement, If) else {}
        for number, block in enumerate(blocks(statement)):
            found = _tests_above(call, block)
            if found is not None:
                return (*_conjuncts(tested[number]), *found) if number in tested else found
    return None


def _conjuncts(test: Expr) -> tuple[Expr, ...]:
    """What must all hold for a test to hold."""
    if isinstance(test, BoolOp) and test.op == "and":
        return (*_conjuncts(test.left), *_conjuncts(test.right))
    return (test,)


def _is_instance_test(test: Expr, cls: Expr) -> str | None:
    """What a test says to be an instance of the class that is called."""
    match test:
        case Call(func=Name(id="isinstance"), args=(Argument(value=held), Argument(value=asked))) if same(asked, cls):
            return dotted(held)
    return None


def _asked(expr: Expr, name: str) -> Expr | None:
    """What is asked for an attribute that it need not have."""
    match expr:
        case Call(func=Name(id="hasattr" | "getattr"), args=(Argument(value=held), Argument(value=asked), *_)):
            return held if _is_text(asked, name) else None
    return None


def _names_field(expr: Expr, field: str, base: str) -> bool:
    """Whether the name of a field is compared with something, passed beside an instance, or looked up."""
    match expr:
        case Compare():
            return any(_is_text(child, field) for child in children(expr))
        case Call(func=func, args=args):
            given = [argument.value for argument in args]
            receivers = [func.value, *given] if isinstance(func, Attribute) else given
            tells = any(_tells_of(e, base) for e in receivers) and any(_is_text(e, field) for e in given)
            return tells or _asked(expr, field) is not None
        case Subscript(value=value, index=index):
            return _is_text(index, field) and dotted(value) != base and _tells_of(value, base)
    return False


def _tries(body: Body, field: str) -> bool:
    """Whether it is tried to read an attribute of that name, and its absence is caught."""
    tried = (s for statement in walk(body) if isinstance(statement, Try) and statement.handlers for s in statement.body)
    return any(isinstance(part, Attribute) and part.attr == field for part in all_parts(tuple(tried)))


def is_of_wider_tuple(update: Replace, field: str, evaluator: Evaluator) -> bool:
    """Whether an annotation may stand for another NamedTuple, which has its fields and that one.

    A NamedTuple cannot be inherited with more fields: who wants a common part writes the class that has only it.
    """
    cls = update.receiver.cls
    if update.receiver.exact or not cls.framework.is_tuple:
        return False
    wanted = {f.name for f in cls.fields} | {field}
    modules = (cls.module, *evaluator.model.importers(cls.module))
    others = (other for module in modules for other in evaluator.model.classes_in(module))
    return any(other.framework.is_tuple and wanted <= {f.name for f in other.fields} for other in others)


def is_of_other_state(update: Replace, keyword: str, evaluator: Evaluator) -> bool:
    """Whether who uses the module has a class of another state, whose method takes the keyword.

    Then the annotation of a caller, by which the class of an unannotated parameter is known, is wrong.
    """
    place, model, base = update.place, evaluator.model, dotted(update.base) if update.base is not None else None
    annotated = {p.name for f in place.functions for p in f.parameters if p.annotation}
    if update.receiver.exact or base is None or base in annotated or not isinstance(update.call.func, Attribute):
        return False
    return any(
        keyword in taken_by_method(cls, update.function)
        for module in model.importers(place.module)
        for cls in _named_classes(module, evaluator)
    )


def is_of_own_state(update: Replace | CallMethod, keywords: Collection[str], evaluator: Evaluator) -> bool:
    """Whether code reads of a `TrainState` what flax's class has not, and does not only mean to set that here.

    Then it is given a state of another class, which the annotation does not name; else the read raises first.
    """
    func, place, receiver = update.call.func, update.place, update.receiver
    if not isinstance(receiver, Instance) or receiver.exact or not isinstance(func, Attribute) or not place.functions:
        return False
    cls, base = receiver.cls, dotted(func.value)
    if base is None or not is_train_state(cls) or not is_stub(cls.module):
        return False
    body = evaluator.calls.body_of(FunctionSymbol(place.module, place.functions[0])) or ()
    return any(attr not in keywords and misses_attribute(cls, attr, evaluator.model) for attr in _read(base, body))


def _named_classes(module: Module, evaluator: Evaluator) -> list[PytreeClass]:
    """The classes that the names of a module stand for."""
    model, names = evaluator.model, module.outline.module_scope.bindings
    found = (model.class_of_symbol(model.resolver.follow(model.resolver.resolve_name(n, module, ""))) for n in names)
    return [cls for cls in found if cls is not None]


def _keeps_class(body: Body, base: str) -> bool:
    """Whether the class of an instance is put into a variable, or compared in a way by which no class is known."""
    for statement in walk(body):
        keeps = isinstance(statement, (Assign, Annotate))
        for part in own_parts(statement):
            if keeps and isinstance(part, Call) and dotted(part.func) == "isinstance" and _tells_of(part, base):
                return True
            if isinstance(part, Compare) and any(dotted(e) != base and _tells_of(e, base) for e in children(part)):
                return True
    return False


def _is_read_as_other(update: Replace, field: str, body: Body, evaluator: Evaluator) -> bool:
    """Whether the code reads what the class lacks, and another class that the module names has all that is missing.

    Then the instance is of that class, and its annotation is wrong.
    """
    module, base, cls = (
        update.place.module,
        dotted(update.base) if update.base is not None else None,
        update.receiver.cls,
    )
    if base is None:
        return False
    missing = _read_and_missing(base, cls, body, evaluator) | ({field} & _read(base, body))
    if base not in {p.name for f in update.place.functions for p in f.parameters if p.annotation}:
        return field in missing  # what callers or other classes declare is further away than what the code does
    if not missing:
        return False
    others = _named_classes(module, evaluator)
    return any(all(c.field(name) is not None for name in missing | {field}) for c in others)


def is_belied(assignment: AssignAttribute, evaluator: Evaluator) -> bool:
    """Whether code reads what the class of an instance lacks that it assigns to: its annotation names another class."""
    functions, base = assignment.place.functions, assignment.receiver_text
    if assignment.receiver.exact or assignment.on_self or base is None or not functions:
        return False
    if base.partition(".")[0] not in {p.name for function in functions for p in function.parameters}:
        return False
    body = evaluator.calls.body_of(FunctionSymbol(assignment.place.module, functions[0])) or ()
    missing = _read_and_missing(base, assignment.receiver.cls, body, evaluator)
    return not missing <= {assignment.attr} | COPYING_NAMES  # JAX404 says that of those


def _read_and_missing(base: str, cls: PytreeClass, body: Body, evaluator: Evaluator) -> set[str]:
    """The attributes that code reads of a variable and that instances of the class certainly do not have."""
    if not cls.fields_known or any(is_stub(one.module) for one in cls.mro):
        return set()
    return {attr for attr in _read(base, body) if misses_attribute(cls, attr, evaluator.model)}


def _read(base: str, body: Body) -> set[str]:
    """The attributes that code reads of a variable."""
    written = {id(target) for statement in walk(body) for target in bound_by(statement)}
    return {
        part.attr
        for part in all_parts(body)
        if isinstance(part, Attribute) and id(part) not in written and dotted(part.value) == base
    }


def _tells_of(expr: Expr, base: str) -> bool:
    """Whether an expression is an instance, or what a function or one of its special attributes tells of it."""
    match expr:
        case Call():
            return bool(expr.positional) and _tells_of(expr.positional[0], base)
        case Attribute(value=value, attr=attr) if attr.startswith("__") or attr == "_fields":
            return _tells_of(value, base)
    return dotted(expr) == base


def _is_text(expr: Expr, text: str) -> bool:
    return isinstance(expr, Constant) and expr.kind == "str" and expr.value == text
