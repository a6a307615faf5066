"""Numbers that a class counts in transformed functions, and that its `tree_flatten` leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.stale import called_in_construction
from jaxlint.rules.analyses.fields.moved_attributes import moved
from jaxlint.rules.analyses.instances.methods import own_methods
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Name, dotted, is_number
from jaxlint.syntax.statements import all_parts, walk

#: What takes all attributes of an instance at once.
_ALL_ATTRIBUTES = frozenset({"__dict__", "vars", "setattr", "getattr"})
#: What makes an instance past its constructor.
_PAST = "__new__"


def lost_count(
    cls: PytreeClass, flatten: Function, unflatten: Function, evaluator: Evaluator
) -> tuple[str, str] | None:
    """An attribute that begins as a number in the constructor, which is all that a rebuilt instance has of it.

    With it comes the method that counts it up, which a transformed function calls; and something reads it.
    """
    init = cls.method("__init__")
    if init is None or _takes_all(flatten, cls, evaluator) or _takes_all(unflatten, cls, evaluator):
        return None
    begun = {a.attr for a in init[1].self_assignments if a.value is not None and is_number(a.value)}
    kept = flatten.self_reads | _attributes(unflatten, cls, evaluator)
    for name in sorted(begun - kept) if _PAST not in kept else ():
        for method in _counting(name, cls, evaluator):
            is_read = _is_read(name, cls.module, (init[1], method))
            if is_read and any(_is_run(method.name, one, evaluator) for one in _around(cls, evaluator)):
                return name, method.name
    return None


def _takes_all(function: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    return not _ALL_ATTRIBUTES.isdisjoint(_attributes(function, cls, evaluator))


def _attributes(function: Function, cls: PytreeClass, evaluator: Evaluator) -> set[str]:
    """The names and attributes in the body of a method; all of them if it cannot be seen."""
    found = cls.method(function.name)
    body = None if found is None else evaluator.calls.body_of(FunctionSymbol(found[0].module, function))
    parts = all_parts(body or ())
    names = {p.attr if isinstance(p, Attribute) else p.id for p in parts if isinstance(p, (Attribute, Name))}
    return names if body is not None else set(_ALL_ATTRIBUTES)


def _counting(name: str, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Function]:
    """The methods that move the number in an attribute of `self`."""
    constructing = called_in_construction(cls)
    for ancestor in cls.mro:
        for method in own_methods(ancestor):
            writes = any(assignment.attr == name for assignment in method.self_assignments)
            if method.self_name is None or method.name in constructing or not writes:
                continue
            body = evaluator.calls.body_of(FunctionSymbol(ancestor.module, method)) or ()
            targets = (target for s in walk(body) if (target := moved(s)) is not None)
            if any(dotted(target) == f"{method.self_name}.{name}" for target in targets):
                yield method


def _is_read(name: str, module: Module, writing: tuple[Function, ...]) -> bool:
    """Whether a module speaks of an attribute outside of the methods that give it a value."""
    read = re.compile(rf"\.{re.escape(name)}\b(?!\s*[-+*/]?=[^=])")
    rows = [function.body_rows for function in writing]
    lines = enumerate(module.source.text.split("\n"), 1)
    return any(
        read.search(line.partition("#")[0]) and not any(first <= row <= last for first, last in rows)
        for row, line in lines
    )


def _around(cls: PytreeClass, evaluator: Evaluator) -> Iterator[Module]:
    yield cls.module
    yield from evaluator.model.importers(cls.module)


def _is_run(name: str, module: Module, evaluator: Evaluator) -> bool:
    """Whether a function of a module that is transformed calls a method of some name."""
    if not any(name in unit.calls for unit in module.outline.units):
        return False
    for function in module.outline.functions.values():
        if function.owner is None and evaluator.calls.transformed.of(function, module):
            body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
            called = (p.func for p in all_parts(body) if isinstance(p, Call) and isinstance(p.func, Attribute))
            if any(func.attr == name for func in called):
                return True
    return False
