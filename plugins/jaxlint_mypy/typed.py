"""Where jaxlint's own reading of annotations and defaults knows nothing, mypy's types may."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from mypy import nodes
from mypy.nodes import ClassDef, Expression, TypeInfo
from mypy.types import CallableType, Instance, Overloaded, Type, get_proper_type

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.annotations import AnnotationReader
from jaxlint.infer.known.promises import Promises
from jaxlint.infer.known.values import UNKNOWN, Choice, Container, UnknownValue, Value, plain
from jaxlint.project.modules import Module
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint_mypy.focused import DeclaredTransformed


class Types(Protocol):
    """What is asked of mypy (`front.FrontEnd`)."""

    def info_of(self, module: Module, qualname: str) -> TypeInfo | None:
        """mypy's class for one of a module of jaxlint's."""

    def value(self, typ: Type | None, declared: bool = True) -> Value:
        """The value of a type of mypy's."""


class TypedAnnotations(AnnotationReader):
    """Reads annotations; what cannot be determined from the text is asked of mypy."""

    def __init__(self, model: PytreeModel, types: Types) -> None:
        super().__init__(model)
        self._types = types

    def read(self, placed: Placed, self_class: PytreeClass | None = None) -> Value:
        """The value that the annotation promises."""
        value = super().read(placed, self_class)
        if not _has_unknown(value):
            return value
        typed = self._types.value(self._declared(placed))
        return value if isinstance(typed, UnknownValue) else typed

    def _declared(self, placed: Placed) -> Type | None:
        """mypy's type of the field that the annotation belongs to."""
        declaration = placed.module.outline.classes.get(placed.scope)
        info = self._types.info_of(placed.module, placed.scope) if declaration is not None else None
        if declaration is None or info is None:
            return None
        name = next((f.name for f in declaration.fields if f.annotation is placed.expr), None)
        symbol = info.names.get(name) if name is not None else None
        return symbol.type if symbol is not None else None


class TypedEvaluator(Evaluator):
    """Evaluates defaults; what cannot be determined from the text is asked of mypy."""

    transformed_type = DeclaredTransformed

    def __init__(self, model: PytreeModel, types: Types) -> None:
        super().__init__(model)
        self.annotations = TypedAnnotations(model, types)
        self.promises = Promises(self.annotations, self._seen, self._put_there)
        self._types = types

    def static(self, placed: Placed, variables: Mapping[str, Value] | None = None) -> Value:
        """What an expression of a class body or a default evaluates to; or one with `variables`."""
        value = super().static(placed, variables)
        if not isinstance(value, UnknownValue):
            return value
        info = self._types.info_of(placed.module, placed.scope)
        found = None if info is None else _expression_at(info, placed.expr.at)
        return UNKNOWN if found is None else self._types.value(_type_of(found), declared=False)


def _has_unknown(value: Value) -> bool:
    match plain(value):
        case UnknownValue():
            return True
        case Container(items=None, element=element):
            return _has_unknown(element)
        case Container(items=tuple(items)) | Choice(options=items):
            return any(_has_unknown(item) for item in items)
    return False


def _expression_at(info: TypeInfo, at: object) -> Expression | None:
    """The expression of a class body that begins where `at` does."""
    place = at[:2] if isinstance(at, tuple) else None
    body = info.defn.defs.body if isinstance(info.defn, ClassDef) else []
    for statement in body:
        if isinstance(statement, nodes.AssignmentStmt):
            for found in _parts(statement.rvalue):
                if (found.line, found.column) == place:
                    return found
    return None


def _parts(node: Expression) -> Iterator[Expression]:
    yield node
    if isinstance(node, nodes.CallExpr):
        for argument in node.args:
            yield from _parts(argument)
    elif isinstance(node, nodes.LambdaExpr):
        body = node.expr()
        if body is not None:
            yield from _parts(body)


def _type_of(node: Expression) -> Type | None:
    """The type of a name, or what a call returns by its declaration."""
    if isinstance(node, nodes.CallExpr):
        return _returned(node.callee)
    if isinstance(node, nodes.RefExpr) and isinstance(node.node, nodes.Var):
        return node.node.type
    return None


def _returned(callee: Expression) -> Type | None:
    if not isinstance(callee, nodes.RefExpr):
        return None
    node = callee.node
    if isinstance(node, TypeInfo):
        return Instance(node, [])
    typ = node.type if isinstance(node, (nodes.FuncBase, nodes.Decorator, nodes.Var)) else None
    proper = get_proper_type(typ) if typ is not None else None
    if isinstance(proper, Instance):  # `numpy.zeros` is an object that can be called
        method = proper.type.get_method("__call__")
        proper = get_proper_type(method.type) if method is not None and method.type is not None else None
    if isinstance(proper, Overloaded):
        returned = {str(item.ret_type).partition("[")[0]: item.ret_type for item in proper.items}
        return next(iter(returned.values())) if len(returned) == 1 else None
    return proper.ret_type if isinstance(proper, CallableType) else None
