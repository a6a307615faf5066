"""Whether code names a class of the project, itself or in the functions that it calls: else it makes no instance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol, Resolver
from jaxlint.syntax.expressions import Attribute, Expr, Name, dotted
from jaxlint.syntax.statements import Body, all_parts, own_names, parts

#: The functions that some code names; None if it names a class.
_Named: TypeAlias = "tuple[FunctionSymbol, ...] | None"


class NamedClasses:
    """Answers for functions, once for each while a module is checked."""

    def __init__(self, resolver: Resolver, body_of: Callable[[FunctionSymbol], Body | None]) -> None:
        self._resolver = resolver
        self._body_of = body_of
        self._known: dict[tuple[str, str], _Named] = {}

    def start(self) -> None:
        """Begin to check a module: which bodies are to be seen depends on it."""
        self._known = {}

    def may_be_met(self, body: Body, own: frozenset[str], module: Module, scope: str, depth: int) -> bool:
        """Whether a class is named in a body with the variables `own`, or in what it calls, `depth` functions deep."""
        level = self._named(all_parts(body), own, module, scope)
        seen: set[tuple[str, str]] = set()
        for _ in range(depth):
            if level is None:
                return True
            found: dict[tuple[str, str], FunctionSymbol] = {}
            for symbol in level:
                if symbol.key not in seen:
                    seen.add(symbol.key)
                    inside = self._in_function(symbol)
                    if inside is None:
                        return True
                    found |= {one.key: one for one in inside}
            level = tuple(found.values())
        return level is None

    def _in_function(self, symbol: FunctionSymbol) -> _Named:
        """What the body and the defaults of a function name."""
        if symbol.key not in self._known:
            self._known[symbol.key] = self._read(symbol)
        return self._known[symbol.key]

    def _read(self, symbol: FunctionSymbol) -> _Named:
        function, module = symbol.declaration, symbol.module
        body = self._body_of(symbol)
        if body is None:
            return ()
        given = [part for p in function.parameters if p.default is not None for part in parts(p.default)]
        defaults = self._named(given, frozenset(), module, function.scope)
        own = own_names(body) | {parameter.name for parameter in function.parameters}
        inside = self._named(all_parts(body), own, module, function.inner_scope)
        return None if defaults is None or inside is None else (*defaults, *inside)

    def _named(self, expressions: Iterable[Expr], own: frozenset[str], module: Module, scope: str) -> _Named:
        """What some expressions name, but for what starts with the name of an own variable."""
        names: dict[str, Expr] = {}
        for part in expressions:
            kind = type(part)
            if kind is Name or kind is Attribute:
                name = dotted(part)
                if name is not None and name.partition(".")[0] not in own:
                    names[name] = part
        functions: list[FunctionSymbol] = []
        for part in names.values():
            symbol = self._resolver.resolve(part, module, scope)
            if isinstance(symbol, ClassSymbol):
                return None
            if isinstance(symbol, FunctionSymbol):
                functions.append(symbol)
        return tuple(functions)
