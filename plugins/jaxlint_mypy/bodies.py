"""The bodies of functions, which few rules ask for: jaxlint's own reader is made for the first of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jaxlint.infer.evaluating.events import Event
from jaxlint.infer.known.values import Value
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.symbols.outline import Function
from jaxlint.syntax.statements import Body

if TYPE_CHECKING:
    from jaxlint.infer.reading.reader import ModuleReader


class BodiesOnDemand:
    """Reads bodies with the reader that it is given; what calls pass mypy knows."""

    def __init__(self, reader: Callable[[], ModuleReader]) -> None:
        self._reader = reader

    def return_of(self, symbol: FunctionSymbol, receiver: Value | None, passed: dict[str, Value]) -> Value:
        """What a function returns."""
        return self._reader().return_of(symbol, receiver, passed)

    def body_of(self, symbol: FunctionSymbol) -> Body | None:
        """The statements of a function, or None if they cannot be read."""
        return self._reader().body_of(symbol)

    def top_level(self, module: Module) -> Body:
        """The statements of a module outside of functions and classes."""
        return self._reader().top_level(module)

    def note_call(self, symbol: FunctionSymbol, passed: dict[str, Value], caller: Function | None) -> None:
        """Keep nothing."""

    def note_called(self, symbol: FunctionSymbol, events: list[Event]) -> None:
        """Keep nothing."""
