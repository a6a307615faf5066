"""Which assignments to attributes are refused, and which of them happen while an instance is made."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jaxlint.infer.bodies.slots import Slot, source
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, Place
from jaxlint.infer.known.values import Instance, UnknownValue, plain
from jaxlint.libraries.updates import MUTABLE_COPY
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.families import Family
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.symbols.outline import Function, Unit
from jaxlint.syntax.expressions import Attribute, Call, Name, dotted, last_name
from jaxlint.syntax.statements import Body, With, all_parts, assigned_names, parts, target_names, walk


def refuses_assignment(event: AssignAttribute) -> bool:
    """Whether the assignment certainly raises, whichever class the receiver is of."""
    return all(_refuses(event, receiver) for receiver in (event.receiver, *event.alternatives))


def _refuses(event: AssignAttribute, receiver: Instance) -> bool:
    cls = receiver.cls
    if not cls.is_pytree or cls.frozen is not True or event.mutable_copy:
        return False
    if cls.frozen_names is not None and event.attr not in cls.frozen_names:
        return False
    if not receiver.exact and any(s.frozen is not True for s in event.place.subclasses(cls)):
        return False
    return not (event.on_self and _runs_only_in(event, cls, cls.framework.assignable_in))


def may_be_set_by_attribute(event: AssignAttribute, evaluator: Evaluator) -> bool:
    """Whether a class attribute of that name may have a `__set__` of its own, which a framework then leaves it to."""
    cls, attr = event.receiver.cls, event.attr
    if not cls.framework.obeys_setters or not attr:
        return False
    for owner in cls.mro:
        declared = owner.symbol.declaration
        values = {one.name: one.value for one in declared.fields} | {
            one.name: one.value for one in declared.assignments
        }
        bound = values.get(attr)
        if bound is None:
            continue
        placed = Placed(bound, owner.module, declared.scope)
        value = plain(evaluator.static(placed))
        if isinstance(value, Instance):
            return value.cls.method("__set__") is not None or not value.cls.bases_known
        if not isinstance(value, UnknownValue) or not isinstance(bound, Call):
            return False
        function = evaluator.model.resolver.resolve(bound.func, owner.module, declared.scope)
        known = {*cls.framework.field_functions, "dataclasses.field"}
        return not (isinstance(function, External) and cls.framework.aliases.get(function.name, function.name) in known)
    return False


def in_construction(event: AssignAttribute) -> bool:
    """Whether `self` is assigned to by code that runs only while an instance is made."""
    cls = event.receiver.cls
    return event.on_self and _runs_only_in(event, cls, cls.framework.constructing)


def may_be_in_construction(event: AssignAttribute, evaluator: Evaluator) -> bool:
    """Whether the receiver may be an instance that is just made: by another name than `self`, or handed on."""
    place, name = event.place, event.receiver_text
    if event.on_self or place.function is None or name is None or "." in name:
        return False
    for cls in (receiver.cls for receiver in (event.receiver, *event.alternatives)):
        handed_to: set[str] = set()
        for method, variable, body in _constructing(cls, place, evaluator):
            if method is place.function and source(Slot(name), body) == Slot(variable):
                return True
            handed_to |= set(_handed_to({variable}, body))
        if place.function.name in _hand_on(handed_to, place, evaluator):
            return True
    return False


def may_be_given_mutable_copy(event: AssignAttribute, evaluator: Evaluator) -> bool:
    """Whether a function assigns to what it is given, and may be given a copy that `copy_and_mutate` has made.

    Of a caller in another module it is only known that it calls both.
    """
    function, name = event.place.function, (event.receiver_text or "").partition(".")[0]
    if function is None or not event.receiver.cls.framework.mutable_copies:
        return False
    if all(parameter.name != name for parameter in function.parameters):
        return False
    modules = (event.place.module, *evaluator.model.importers(event.place.module))
    callers = [(m, unit) for m in modules for unit in m.outline.units if {function.name, MUTABLE_COPY} <= unit.calls]
    return any(m is not event.place.module or _hands_copy(function.name, unit, m, evaluator) for m, unit in callers)


def _hands_copy(callee: str, unit: Unit, module: Module, evaluator: Evaluator) -> bool:
    """Whether a unit calls something by that name, and gives it what a `with` statement around binds."""
    functions = [f for f in module.outline.functions.values() if unit.first <= f.at.row <= unit.last]
    outermost = [f for f in functions if ".<locals>" not in f.scope]
    bodies = [evaluator.calls.body_of(FunctionSymbol(module, function)) for function in outermost]
    return not bodies or any(body is None or _hands_bound(callee, body) for body in bodies)


def _hands_bound(callee: str, body: Body) -> bool:
    for statement in walk(body):
        if isinstance(statement, With):
            entered = {name for _, target in statement.items if target is not None for name in target_names(target)}
            copies = entered | assigned_names(statement.body)
            calls = [p for p in all_parts(statement.body) if isinstance(p, Call) and last_name(p.func) == callee]
            if any(isinstance(part, Name) and part.id in copies for call in calls for part in parts(call)):
                return True
    return False


def _constructing(cls: PytreeClass, place: Place, evaluator: Evaluator) -> Iterator[tuple[Function, str, Body]]:
    """The methods that run while an instance may be assigned to, each with its `self` and its body.

    Of other modules they are the constructors: what else these call may change without notice.
    """
    family = (*cls.mro, *place.subclasses(cls))
    names, pending = set[str](), set(cls.framework.assignable_in)
    while pending:
        name = pending.pop()
        names.add(name)
        for one in family:
            for qualname in one.symbol.declaration.methods.get(name, ()):
                method = one.module.outline.functions[qualname]
                if one.module is place.module or name in cls.framework.assignable_in:
                    body = evaluator.calls.body_of(FunctionSymbol(one.module, method))
                    if method.self_name is not None and body is not None:
                        yield method, method.self_name, body
                pending |= method.self_calls - names


def _hand_on(names: set[str], place: Place, evaluator: Evaluator) -> set[str]:
    """The functions of these names, and those that they hand what they are given, as far as they are of the module."""
    found, pending = set[str](), names
    while pending:
        found |= pending
        functions = [f for f in place.module.outline.functions.values() if f.name in pending]
        pending = set()
        for function in functions:
            body = evaluator.calls.body_of(FunctionSymbol(place.module, function)) or ()
            pending |= set(_handed_to({p.name for p in function.parameters}, body)) - found
    return found


def _handed_to(variables: set[str], body: Body) -> Iterator[str]:
    """The names of the functions to which some variables are handed, themselves or with others as arguments."""
    for part in all_parts(body):
        if isinstance(part, Call):
            given = [argument.value for argument in part.args]
            if any(isinstance(value, Name) and value.id in variables for value in given):
                for expr in (part.func, *given):
                    yield expr.attr if isinstance(expr, Attribute) else expr.id if isinstance(expr, Name) else ""


def assignment_error(event: AssignAttribute) -> str:
    """The name of the error that a refused assignment raises."""
    cls = event.receiver.cls
    if cls.framework.mapping_option and event.attr and cls.field(event.attr) is None:
        # chex makes the class anew, and the `__setattr__` of the first one calls `super(First, self)` for other names
        return "TypeError" if cls.is_mapping else cls.framework.frozen_error
    return cls.framework.frozen_error


def _runs_only_in(event: AssignAttribute, cls: PytreeClass, methods: frozenset[str]) -> bool:
    """Whether the method around the event is one of `methods`, or called only by those."""
    method = event.place.method
    if not methods or method is None:
        return False
    return is_called_only_by(method.name, event.place.subclasses(cls).below(*cls.mro), methods)


def _is_setter(cls: PytreeClass, name: str) -> bool:
    """Whether a class has a property of that name that can be assigned to."""
    functions = (cls.module.outline.functions[q] for q in cls.symbol.declaration.methods.get(name, ()))
    return any(dotted(decorator) == f"{name}.setter" for one in functions for decorator in one.decorators)


def _runs(function: Function, name: str, is_setter: bool) -> bool:
    """Whether a method calls another one of its `self`, or assigns to the property that it sets."""
    return name in function.self_calls or (is_setter and any(a.attr == name for a in function.self_assignments))


def is_called_only_by(
    name: str, family: Collection[PytreeClass] | Family, methods: frozenset[str], seen: frozenset[str] = frozenset()
) -> bool:
    """Whether a method is one of `methods`, or called by methods of the family that all are.

    Where none calls it by its name, it is what those call that take it as a value: `{"a": self._a}[kind]()`.
    """
    if name in methods or name in seen:
        return True
    is_setter = any(_is_setter(cls, name) for cls in family)
    own = [
        (caller, cls.module.outline.functions[qualname])
        for cls in family
        for caller, qualnames in cls.symbol.declaration.methods.items()
        for qualname in qualnames
    ]
    callers = {caller for caller, method in own if _runs(method, name, is_setter)} - {name}
    callers = callers or {caller for caller, method in own if name in method.self_reads} - {name}
    return bool(callers) and all(is_called_only_by(c, family, methods, seen | {name}) for c in callers)
