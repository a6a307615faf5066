"""What a framework may ask about a field when it decides whether the field is a leaf or static."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from jaxlint.expr import Attribute, Constant, Expr, Name, parse_annotation
from jaxlint.names import ClassSymbol, External, Resolver, ValueSymbol
from jaxlint.project import Module

if TYPE_CHECKING:
    from jaxlint.pytrees.model import Placed, PytreeClass


class FieldContext:
    """A field's annotation and metadata, with name resolution at the place of its declaration."""

    def __init__(
        self,
        annotation: Expr | None,
        module: Module,
        scope: str,
        metadata: Mapping[str, bool | None],
        resolver: Resolver,
        class_of: Callable[[ClassSymbol], PytreeClass],
    ) -> None:
        self.quoted = isinstance(annotation, Constant) and annotation.kind == "str"
        if isinstance(annotation, Constant) and annotation.kind == "str":
            annotation = parse_annotation(annotation.value, annotation.at)
        self.annotation = annotation
        self.module = module
        self.scope = scope
        self.metadata = metadata
        self._resolver = resolver
        self._class_of = class_of

    def at(self, annotation: Placed) -> FieldContext:
        """The same questions about the annotation of another field."""
        return FieldContext(
            annotation.expr, annotation.module, annotation.scope, self.metadata, self._resolver, self._class_of
        )

    def resolve(self, expr: Expr, module: Module, scope: str) -> str | None:
        """The canonical dotted name that `expr` stands for, or None if that is a project's own thing or unknown."""
        symbol = self._resolver.resolve(expr, module, scope)
        return symbol.name if isinstance(symbol, External) else None

    def alias(self, expr: Expr, module: Module, scope: str) -> tuple[Expr, Module, str] | None:
        """What a variable used as an annotation is assigned (`Alias = Static[int]`), and where to read that."""
        symbol = self._resolver.resolve(expr, module, scope)
        if isinstance(symbol, ValueSymbol) and symbol.assignment.value is not None:
            return symbol.assignment.value, symbol.module, symbol.scope
        return None

    def annotated_with(self) -> str | None:
        """The canonical name of an annotation that is a single name."""
        if not isinstance(self.annotation, (Name, Attribute)):
            return None
        return self.resolve(self.annotation, self.module, self.scope)

    def class_of(self, expr: Expr) -> PytreeClass | None:
        """The class of the project that `expr` names."""
        symbol = self._resolver.resolve(expr, self.module, self.scope)
        return self._class_of(symbol) if isinstance(symbol, ClassSymbol) else None
