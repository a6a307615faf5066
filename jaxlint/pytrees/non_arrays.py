"""Whether the values of an annotated type are such as JAX refuses as leaves."""

from __future__ import annotations

from jaxlint.libraries.refused import REFUSED_TYPES
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, Resolver, Symbol, ValueSymbol
from jaxlint.pytrees.model import Placed
from jaxlint.symbols.outline import Class
from jaxlint.syntax.ast_expressions import parse_annotation
from jaxlint.syntax.expressions import Attribute, Binary, Constant, Display, Expr, Name, Subscript, is_ellipsis

#: What the description of a container of such values begins with.
CONTAINER = "a container that holds "
_ENUMS = frozenset({"enum.Enum", "enum.StrEnum", "enum.Flag"})
#: Containers, whose elements are the leaves.
_CONTAINERS = frozenset(
    f"{module}.{name}"
    for module in ("builtins", "typing", "collections.abc")
    for name in ("tuple", "Tuple", "list", "List", "dict", "Dict", "Sequence", "Mapping", "MutableMapping")
)
_WRAPPERS = frozenset({"typing.Annotated", "typing.Final", "typing.Required"})
_MAX_DEPTH = 8


def non_array(placed: Placed, resolver: Resolver) -> str | None:
    """What values of an annotated type are, if they certainly are no arrays (and none may be None)."""
    return _Reader(resolver).read(placed.expr, placed.module, placed.scope, 0)


class _Reader:
    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver

    def read(self, expr: Expr, module: Module, scope: str, depth: int) -> str | None:
        if depth > _MAX_DEPTH:
            return None
        match expr:
            case Constant(kind="str", value=str(text)):
                parsed = parse_annotation(text, expr.at)
                return None if parsed is None else self.read(parsed, module, scope, depth + 1)
            case Binary(op="|", left=left, right=right):
                return self._all([left, right], module, scope, depth)
            case Subscript(value=head, index=index):
                items = list(index.items) if isinstance(index, Display) and index.kind == "tuple" else [index]
                return self._generic(head, items, module, scope, depth)
            case Name() | Attribute():
                return self._named(self.resolver.resolve(expr, module, scope), depth)
        return None

    def _named(self, symbol: Symbol, depth: int) -> str | None:
        match symbol:
            case External(name=name):
                return REFUSED_TYPES.get(name.replace("optax._src.base.", "optax."))
            case ClassSymbol(module=module, declaration=declaration):
                return "an Enum" if self._is_enum(declaration, module) else None
            case ValueSymbol(module=module, scope=scope, assignment=assignment) if assignment.value is not None:
                return self.read(assignment.value, module, scope, depth + 1)
        return None

    def _is_enum(self, declaration: Class, module: Module) -> bool:
        if len(declaration.bases) != 1:
            return False
        symbol = self.resolver.resolve(declaration.bases[0].value, module, declaration.scope)
        return isinstance(symbol, External) and symbol.name in _ENUMS

    def _generic(self, head: Expr, items: list[Expr], module: Module, scope: str, depth: int) -> str | None:
        symbol = self.resolver.resolve(head, module, scope)
        if not isinstance(symbol, External) or not items:
            return self._named(symbol, depth + 1)
        if symbol.name == "typing.Literal":
            return "a str" if all(isinstance(i, Constant) and i.kind == "str" for i in items) else None
        if symbol.name == "typing.Union":
            return self._all(items, module, scope, depth)
        if symbol.name in _WRAPPERS:
            return self.read(items[0], module, scope, depth + 1)
        if symbol.name in _CONTAINERS:
            mapping = symbol.name.rpartition(".")[2].lower().endswith(("dict", "mapping"))
            held = [i for i in (items[-1:] if mapping else items) if not is_ellipsis(i)]
            found = [self.read(i, module, scope, depth + 1) for i in held]
            inner = next((f for f in found if f is not None), None)
            return None if inner is None else f"{CONTAINER}{inner}"
        return self._named(symbol, depth + 1)

    def _all(self, items: list[Expr], module: Module, scope: str, depth: int) -> str | None:
        """What all members of a union are; None if one of them may be an array, or None."""
        found = [self.read(i, module, scope, depth + 1) for i in items]
        return found[0] if found and all(found) else None
