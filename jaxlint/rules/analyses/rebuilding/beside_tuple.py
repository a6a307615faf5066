"""Attributes that a named tuple has beside its fields: jax makes it anew of the fields alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.given_literals import calls_in
from jaxlint.rules.analyses.instances.methods import may_have
from jaxlint.rules.analyses.rebuilding.exchanged import SHOWING
from jaxlint.symbols.outline import Function, Parameter
from jaxlint.syntax.expressions import Attribute, Call, Name, is_special, last_name
from jaxlint.syntax.names_read import names_inside
from jaxlint.syntax.statements import Assign, Return, all_parts, bound_once, walk


class BesideTuple(msgspec.Struct, frozen=True):
    """An attribute that `__new__` gives an instance, by a parameter that is no field."""

    at: object
    attr: str
    parameter: Parameter
    cls: PytreeClass
    made_by: Function


def beside_tuple(code: CodeRead) -> Iterator[BesideTuple]:
    """What the `__new__` of a named tuple keeps of parameters that take no field when the instance is rebuilt.

    What it computes of the fields is computed again.
    """
    function, cls = code.function, code.place.owner
    if function is None or cls is None or function.name != "__new__" or function is not code.place.method:
        return
    if not cls.framework.is_tuple or not cls.bases_known or not cls.fields_known:
        return
    if any(one.registrations or one.unknown_decorator for one in cls.mro):
        return  # a registration flattens it as it says
    taken = {name for name in function.positional[1 : 1 + len(cls.fields)]}
    others = {p.name: p for p in function.parameters[1:] if p.name not in taken and not p.kind.startswith("*")}
    bound = bound_once(code.body)
    fields = {field.name for field in cls.fields}
    returned = {s.value.id for s in walk(code.body) if isinstance(s, Return) and isinstance(s.value, Name)}
    for statement in walk(code.body, nested=False):
        match statement:
            case Assign(targets=(Attribute(value=Name(id=name), attr=attr) as target,), value=value):
                made = bound.get(name)
                is_new = isinstance(made, Call) and last_name(made.func) == "__new__" and name in returned
                given = names_inside(value) & others.keys() if is_new and attr not in fields else set()
                if given and not is_special(attr):
                    yield BesideTuple(target.at, attr, others[min(given)], cls, function)


def is_missed(beside: BesideTuple, evaluator: Evaluator) -> bool:
    """Whether the constructor fails without the parameter, or a call gives it another value, and that is read again."""
    if beside.parameter.default is None:
        return True
    module = beside.cls.module
    homes = (module, *evaluator.model.importers(module))
    return any(_gives(beside, home, evaluator) for home in homes) and any(_reads(beside, h, evaluator) for h in homes)


def _gives(beside: BesideTuple, module: Module, evaluator: Evaluator) -> bool:
    """Whether a call of the class in a module gives the parameter, or may do so."""
    names = {one.name for one in evaluator.model.family(beside.cls)}
    written = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names | {'cls'})))})\s*\(")
    positional = beside.made_by.positional[1:]
    for call, function in calls_in(module, written, evaluator):
        called = last_name(call.func)
        if called == "cls" and function is not None:
            called = function.owner or ""
        if called in names and (call.has_star or beside.parameter.name in call.given_to(positional)):
            return True
    return False


def _reads(beside: BesideTuple, module: Module, evaluator: Evaluator) -> bool:
    """Whether the attribute is read in a module, other than to show an instance."""
    read = re.compile(rf"\.\s*{re.escape(beside.attr)}\b")
    if not read.search(module.source.text):
        return False
    functions = (f for f in module.outline.functions.values() if f.name not in SHOWING and f is not beside.made_by)
    symbols = [FunctionSymbol(module, function) for function in functions if may_have(read, function, module)]
    bodies = [evaluator.calls.top_level(module), *(evaluator.calls.body_of(symbol) or () for symbol in symbols)]
    every = (part for body in bodies for part in all_parts(body))
    return any(isinstance(part, Attribute) and part.attr == beside.attr for part in every)
