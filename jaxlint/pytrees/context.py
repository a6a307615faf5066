"""What a framework may ask about a field when it decides whether the field is a leaf or static."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, Resolver, ValueSymbol
from jaxlint.syntax.ast_expressions import parse_annotation
from jaxlint.syntax.expressions import Attribute, Constant, Display, Expr, Name, Subscript, children, dotted

_BUILTINS = frozenset(dir(builtins))
#: Longer annotations are not read to the end.
_MAX_PARTS = 200


#: The annotations of the fields of a class, each with the module and the scope of its names, and whether these are all.
Annotations: TypeAlias = tuple[Sequence[tuple[Expr, Module, str]], bool]


class FieldContext:
    """A field's annotation and metadata, with name resolution at the place of its declaration."""

    def __init__(
        self,
        annotation: Expr | None,
        module: Module,
        scope: str,
        metadata: Mapping[str, bool | None],
        resolver: Resolver,
        annotations_of: Callable[[ClassSymbol], Annotations],
    ) -> None:
        self.quoted = isinstance(annotation, Constant) and annotation.kind == "str"
        if isinstance(annotation, Constant) and annotation.kind == "str":
            annotation = parse_annotation(annotation.value, annotation.at)
        self.annotation = annotation
        self.module = module
        self.scope = scope
        self.metadata = metadata
        self._resolver = resolver
        self._annotations_of = annotations_of

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

    def finds(self, expr: Expr) -> bool:
        """Whether a chain of names in the annotation has a value when that is read.

        Annotations that are stored as strings are read late, where neither the names of functions nor those that are
        imported for type checkers only are seen.
        """
        outline = self.module.outline
        name = (dotted(expr) or "").partition(".")[0]
        if not self.quoted and not outline.future_annotations:
            return True
        scopes = [s for s in (outline.scopes.get(self.scope), outline.module_scope) if s is not None]
        bindings = [b for s in scopes for b in s.bindings.get(name, ())]
        if not bindings:
            return bool(outline.star_imports) or name in _BUILTINS
        return any(b.guard != "type_checking" for b in bindings)

    def mention(self, names: frozenset[str]) -> tuple[str, Expr] | None:
        """The first of `names` that stands anywhere in the annotation, aliases followed, and the place in its text."""
        pending = [(self.annotation, self.module, self.scope, self.annotation)] if self.annotation is not None else []
        for _ in range(_MAX_PARTS):
            if not pending:
                break
            expr, module, scope, place = pending.pop()
            own = place is expr
            if isinstance(expr, Constant) and expr.kind == "str":
                expr = parse_annotation(expr.value, expr.at) or expr
            if isinstance(expr, (Name, Attribute)):
                symbol = self._resolver.resolve(expr, module, scope)
                if isinstance(symbol, External) and symbol.name in names:
                    return symbol.name, place
                if isinstance(symbol, ValueSymbol) and symbol.assignment.value is not None:
                    pending.append((symbol.assignment.value, symbol.module, symbol.scope, place))
                continue
            parts = children(expr)
            if isinstance(expr, Subscript):
                head = self.resolve(expr.value, module, scope)
                if head == "typing.Literal":
                    continue
                if head == "typing.Annotated":
                    parts = expr.index.items[:1] if isinstance(expr.index, Display) else ()
            pending += [(part, module, scope, part if own else place) for part in reversed(parts)]
        return None

    def annotated_with(self) -> str | None:
        """The canonical name of an annotation that is a single name."""
        if not isinstance(self.annotation, (Name, Attribute)):
            return None
        return self.resolve(self.annotation, self.module, self.scope)

    def fields_of(self, expr: Expr) -> tuple[list[FieldContext], bool] | None:
        """The same questions about the fields of the class that `expr` names, and whether these are all its fields.

        None if it names no class of the project.
        """
        symbol = self._resolver.resolve(expr, self.module, self.scope)
        if not isinstance(symbol, ClassSymbol):
            return None
        annotations, complete = self._annotations_of(symbol)
        return [
            FieldContext(*placed, self.metadata, self._resolver, self._annotations_of) for placed in annotations
        ], complete
