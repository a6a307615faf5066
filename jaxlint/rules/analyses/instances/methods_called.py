"""The methods that code calls of the instance it belongs to, or of one that a variable of it holds."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Instance, is_classmethod
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.methods import is_overridden
from jaxlint.syntax.expressions import Attribute, Expr, Name


def own_method(func: Expr, module: Module, scope: str, evaluator: Evaluator) -> FunctionSymbol | None:
    """The method that `self.name` is in the scope of a method, whatever the class."""
    around = module.outline.function_of(scope)
    if around is None or around.owner is None or not isinstance(func, Attribute):
        return None
    if not isinstance(func.value, Name) or func.value.id != around.self_name:
        return None
    return _method(evaluator.model.build(ClassSymbol(module, module.outline.classes[around.owner])), func, evaluator)


def held_method(func: Expr, code: CodeRead, evaluator: Evaluator) -> FunctionSymbol | None:
    """The method of what a variable of a body holds, whatever the class."""
    if not isinstance(func, Attribute) or not isinstance(func.value, Name):
        return None
    held = LocalInstances.of(code, evaluator).value(func.value)
    return _method(held.cls, func, evaluator) if isinstance(held, Instance) else None


def class_method(func: Expr, code: CodeRead, evaluator: Evaluator) -> FunctionSymbol | None:
    """The class method that is called by the name of a class, and that nothing else makes something of."""
    if not isinstance(func, Attribute):
        return None
    named = evaluator.model.resolver.resolve(func.value, code.place.module, code.scope)
    cls = evaluator.model.class_of_symbol(named)
    found = None if cls is None else cls.method(func.attr)
    if found is None or len(found[1].decorators) != 1 or not is_classmethod(found[1]):
        return None
    return FunctionSymbol(found[0].module, found[1])


def _method(cls: PytreeClass, func: Attribute, evaluator: Evaluator) -> FunctionSymbol | None:
    """A method that nothing makes something else of, and that no class that is seen has a method of its own for."""
    found = cls.method(func.attr)
    if found is None or found[1].decorators or func.attr in cls.abstract_methods:
        return None
    if is_overridden(func.attr, Instance(cls), evaluator):
        return None
    return FunctionSymbol(found[0].module, found[1])
