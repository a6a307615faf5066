"""Attributes that a method of what holds the instance goes on from, so that it is there to be called again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Instance, plain
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.stale import (
    called_in_construction,
    initialised,
    is_preparing,
    is_read_harmlessly,
)
from jaxlint.rules.analyses.instances.methods import may_have
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Expr, Name, dotted
from jaxlint.syntax.statements import Assign, Augment, Statement, parts, walk


def moved_by_holder(
    attr: str, inside: Mapping[str, Function], cls: PytreeClass, evaluator: Evaluator
) -> tuple[PytreeClass, Function] | None:
    """A method of another class that makes the new value of an attribute of the old: `self.trainer.rate *= 0.5`.

    It is looked for where the class is declared, and in the modules that import that; constructors and what prepares
    may do so once, before anything is compiled. `inside` are the methods that read it when they are compiled.
    """
    moving = _moving(attr)
    modules = {module.path: module for module in (cls.module, *evaluator.model.importers(cls.module))}
    candidates = [module for module in modules.values() if moving.search(module.source.text) is not None]
    if not candidates or not initialised(attr, cls) or is_read_harmlessly(attr, inside, cls, evaluator):
        return None
    for module in candidates:
        for owner, function in _methods(moving, module, evaluator):
            held = _held(attr, function, module, evaluator)
            if held is None or owner in evaluator.model.family(cls) or is_preparing(function.name):
                continue
            value = plain(evaluator.attribute_of(Instance(owner), held))
            if isinstance(value, Instance) and value.cls is cls and function.name not in called_in_construction(owner):
                return owner, function
    return None


@lru_cache(maxsize=256)
def _moving(attr: str) -> re.Pattern[str]:
    """Finds assignments to an attribute of an attribute in a text, and perhaps more."""
    return re.compile(rf"\w\.\w+\.{attr}\s*(?:[-+*/%@|&^]|//|\*\*|<<|>>)?=(?!=)")


def _methods(moving: re.Pattern[str], module: Module, evaluator: Evaluator) -> Iterator[tuple[PytreeClass, Function]]:
    """The methods that the classes of a module declare in which something is found, with these."""
    for function in module.outline.functions.values():
        if function.owner not in module.outline.classes or function.self_name is None:
            continue
        if may_have(moving, function, module):
            yield evaluator.model.build(ClassSymbol(module, module.outline.classes[function.owner])), function


def _held(attr: str, method: Function, module: Module, evaluator: Evaluator) -> str | None:
    """The attribute of `self` that holds the instance whose attribute a method moves on."""
    for statement in walk(evaluator.calls.body_of(FunctionSymbol(module, method)) or (), nested=False):
        match _moved(statement):
            case Attribute(value=Attribute(value=Name(id=own), attr=held), attr=name):
                if own == method.self_name and name == attr:
                    return held
    return None


def _moved(statement: Statement) -> Expr | None:
    """What a statement gives a value that is made of its old one."""
    match statement:
        case Augment(target=target):
            return target
        case Assign(targets=(target,), value=value):
            path = dotted(target)
            return target if path is not None and any(dotted(part) == path for part in parts(value)) else None
    return None
