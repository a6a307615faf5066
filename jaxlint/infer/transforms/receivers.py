"""Of which class an object is whose method is handed on, as far as outlines tell: `env` of `jax.jit(env.step)`."""

from __future__ import annotations

from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol, ValueSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.symbols.outline import Applying, Assignment, Scope
from jaxlint.syntax.ast_expressions import parse_annotation
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, Name, is_none

_MAX_DEPTH = 4


class Receivers:
    """Finds the methods that calls hand on as attributes of objects whose class is written down."""

    def __init__(self, model: PytreeModel) -> None:
        self.model = model

    def method(self, expr: Attribute, applying: Applying, module: Module) -> FunctionSymbol | None:
        """The method that `env.step` or `self.env.step` is, in a call in `module`; None if that is not certain."""
        held = expr.value
        if isinstance(held, Name) and held.id in applying.shadowed:
            return None
        if isinstance(held, Attribute):
            cls = self._of_attribute(held, applying, module)
        elif isinstance(held, Name):
            maker = dict(applying.makers).get(held.id)
            made = None if maker is None else self.model.resolver.resolve(maker, module, applying.scope)
            cls = self._of_name(held, module, applying.scope) if made is None else self.model.class_of_symbol(made)
        else:
            return None
        found = None if cls is None else cls.method(expr.attr)
        if cls is None or found is None or expr.attr in cls.assigned or expr.attr in cls.abstract_methods:
            return None
        method = found[1]
        is_plain = method.self_name is not None and not method.decorators
        return FunctionSymbol(found[0].module, method) if is_plain else None

    def _of_attribute(self, held: Attribute, applying: Applying, module: Module) -> PytreeClass | None:
        """The class of what an attribute of `self` holds: all methods that assign it must agree."""
        if not isinstance(held.value, Name) or held.value.id != applying.self_name or not applying.owner:
            return None
        owner = self.model.build(ClassSymbol(module, module.outline.classes[applying.owner]))
        annotation = owner.annotations.get(held.attr)
        if annotation is not None:
            return self._annotated(annotation.expr, annotation.module, annotation.scope)
        found: list[PytreeClass | None] = []
        for given in owner.assigned.get(held.attr, ()):
            if given is None:
                return None
            if not is_none(given.expr):
                found.append(self._of_value(given, 0))
        return found[0] if found and all(one is found[0] for one in found) else None

    def _of_name(self, name: Name, module: Module, scope: str, depth: int = 0) -> PytreeClass | None:
        """The class of what a variable holds: of a parameter by its annotation, of others by what made it."""
        around = _binding(name.id, module, scope)
        if around is None or depth > _MAX_DEPTH:
            return None
        only = around.bindings[name.id][0] if len(around.bindings[name.id]) == 1 else None
        if isinstance(only, Assignment) and only.guard == "parameter":
            return self._of_parameter(name.id, module, around.qualname)
        symbol = self.model.resolver.resolve(name, module, scope)
        if not isinstance(symbol, ValueSymbol):
            return None
        assignment = symbol.assignment
        if assignment.annotation is not None:
            return self._annotated(assignment.annotation, symbol.module, symbol.scope)
        value = assignment.value
        return None if value is None else self._of_value(Placed(value, symbol.module, symbol.scope), depth + 1)

    def _of_parameter(self, name: str, module: Module, scope: str) -> PytreeClass | None:
        function = module.outline.function_of(scope)
        for parameter in () if function is None else function.parameters:
            if parameter.name == name and parameter.annotation is not None and function is not None:
                return self._annotated(parameter.annotation, module, function.scope)
        return None

    def _of_value(self, given: Placed, depth: int) -> PytreeClass | None:
        """The class of what is made where it stands, or handed on by a variable."""
        match given.expr:
            case Call(func=Name() | Attribute() as func):
                return self.model.class_of_symbol(self.model.resolver.resolve(func, given.module, given.scope))
            case Name() as name:
                return self._of_name(name, given.module, given.scope, depth)
        return None

    def _annotated(self, annotation: Expr, module: Module, scope: str) -> PytreeClass | None:
        """The class that an annotation names."""
        if isinstance(annotation, Constant) and isinstance(annotation.value, str):
            parsed = parse_annotation(annotation.value, annotation.at)
            return None if parsed is None else self._annotated(parsed, module, scope)
        if not isinstance(annotation, (Name, Attribute)):
            return None
        return self.model.class_of_symbol(self.model.resolver.resolve(annotation, module, scope))


def _binding(name: str, module: Module, start: str) -> Scope | None:
    """The innermost scope around that binds a name; a class does so for its own statements only."""
    scope, first = module.outline.scopes.get(start), True
    while scope is not None:
        if name in scope.bindings and (scope.kind != "class" or first):
            return None if name in scope.is_global else scope
        first = False
        scope = module.outline.scopes.get(scope.parent) if scope.parent is not None else None
    return None
