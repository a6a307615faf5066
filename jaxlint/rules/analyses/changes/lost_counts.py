"""Numbers and sums that a class counts in transformed functions, and that its `tree_flatten` leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.libraries.arrays import is_shaped, returned_library
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.counted_inside import Counter, is_returned_counted, makes
from jaxlint.rules.analyses.changes.stale import called_in_construction
from jaxlint.rules.analyses.fields.moved_attributes import moved
from jaxlint.rules.analyses.instances.methods import body_of_method, own_methods
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Binary, Call, Expr, Name, dotted, is_number, items_of
from jaxlint.syntax.statements import Assign, Body, Return, all_parts, bound_once, looked_up, parts, walk

#: What takes all attributes of an instance at once.
_ALL_ATTRIBUTES = frozenset({"__dict__", "vars", "setattr", "getattr"})
#: What makes an instance past its constructor.
_PAST = "__new__"


def lost_count(
    cls: PytreeClass, flatten: Function, unflatten: Function, evaluator: Evaluator
) -> tuple[str, str] | None:
    """An attribute that the constructor begins as a number or zeros, which is all that a rebuilt instance has of it.

    With it comes the method that counts it up: a transformed function calls it, and returns the instance that has
    counted, which loses the number on its way out. What is made inside, and of which only a result leaves, keeps it.
    And something reads it.
    """
    init = cls.method("__init__")
    read = _read_by(flatten, cls, evaluator)
    if init is None or read is None or _takes_all(unflatten, cls, evaluator):
        return None
    begun = {a.attr for a in init[1].self_assignments if a.value is not None and _begins(a.value, init[0], evaluator)}
    survive = read | _attributes(unflatten, cls, evaluator)
    for name in sorted(begun - survive) if _PAST not in survive else ():
        for method, counter in _counting(name, cls, evaluator):
            if _is_read(name, cls.module, (init[1], method)) and is_returned_counted(counter, cls, evaluator):
                return name, method.name
    return None


def _read_by(method: Function, cls: PytreeClass, evaluator: Evaluator) -> set[str] | None:
    """What a method reads of `self`, with those that it calls; None if something may read all, or is not to be seen."""
    read: set[str] = set()
    pending, seen = [method], {method.name}
    while pending:
        function = pending.pop()
        if _takes_all(function, cls, evaluator) or _hands_instance_on(function, cls, evaluator):
            return None
        read |= function.self_reads
        for name in function.self_calls - seen:
            found = cls.method(name)
            if found is None:
                return None
            pending.append(found[1])
        seen |= function.self_calls
    return read


def _begins(value: Expr, owner: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a value is a number, or an array of one number."""
    if not isinstance(value, Call):
        return is_number(value)
    name = evaluator.model.resolver.library_name(value.func, owner.module)
    return returned_library(name) is not None and is_shaped(name)


def _takes_all(function: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    return not _ALL_ATTRIBUTES.isdisjoint(_attributes(function, cls, evaluator))


def _hands_instance_on(function: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the body of a method uses `self` as anything but the owner of an attribute."""
    inside = list(all_parts(body_of_method(function, cls, evaluator) or ()))
    owners = {id(part.value) for part in inside if isinstance(part, Attribute)}
    return any(isinstance(p, Name) and p.id == function.self_name and id(p) not in owners for p in inside)


def _attributes(function: Function, cls: PytreeClass, evaluator: Evaluator) -> set[str]:
    """The names and attributes in the body of a method; all of them if it cannot be seen."""
    body = body_of_method(function, cls, evaluator)
    parts = all_parts(body or ())
    names = {p.attr if isinstance(p, Attribute) else p.id for p in parts if isinstance(p, (Attribute, Name))}
    return names if body is not None else set(_ALL_ATTRIBUTES)


def _counting(name: str, cls: PytreeClass, evaluator: Evaluator) -> Iterator[tuple[Function, Counter]]:
    """The methods that move the number in an attribute of `self`, or give an instance that they make another one."""
    constructing = called_in_construction(cls)
    for ancestor in cls.mro:
        for method in own_methods(ancestor):
            own = method.self_name
            if own is None or method.name in constructing:
                continue
            writes = any(assignment.attr == name for assignment in method.self_assignments)
            if not writes and name not in method.self_reads:
                continue
            body = evaluator.calls.body_of(FunctionSymbol(ancestor.module, method)) or ()
            moves = _moves(name, own, body)
            if moves or _hands_on(name, own, cls, body):
                yield method, Counter(method.name, own, moves, body)


def _moves(name: str, own: str, body: Body) -> bool:
    """Whether a method moves the number in an attribute of `self`."""
    targets = (target for s in walk(body) if (target := moved(s)) is not None)
    return any(dotted(target) == f"{own}.{name}" for target in targets)


def _hands_on(name: str, own: str, cls: PytreeClass, body: Body) -> bool:
    """Whether a method returns a new instance, and has given it another number, which it computes with its own one."""
    bound = bound_once(body)
    returned = {dotted(one) for s in walk(body) if isinstance(s, Return) and s.value for one in items_of(s.value)}
    for statement in walk(body, nested=False):
        match statement:
            case Assign(targets=(Attribute(value=Name(id=made), attr=attr),), value=value) if attr == name:
                maker = bound.get(made)
                if made in returned and isinstance(maker, Call) and makes(maker, own, cls):
                    value = looked_up(value, bound)
                    if isinstance(value, Binary) and any(dotted(part) == f"{own}.{name}" for part in parts(value)):
                        return True
    return False


def _is_read(name: str, module: Module, writing: tuple[Function, ...]) -> bool:
    """Whether a module speaks of an attribute outside of the methods that give it a value."""
    read = re.compile(rf"\.{re.escape(name)}\b(?!\s*[-+*/]?=[^=])")
    rows = [function.body_rows for function in writing]
    lines = enumerate(module.source.text.split("\n"), 1)
    return any(
        read.search(line.partition("#")[0]) and not any(first <= row <= last for first, last in rows)
        for row, line in lines
    )
