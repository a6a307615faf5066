"""What rules wait for, besides the events that they look at: code that holds none of it is not read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from jaxlint.infer.choosing.given import GivenClasses
from jaxlint.infer.transforms.calling import CallingFunctions, may_change_given
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function, Unit


class Candidate(msgspec.Struct, frozen=True):
    """A unit of a module, or a piece of one, as its outline shows it: a rule may want it to be read."""

    unit: Unit
    functions: Sequence[Function]
    module: Module
    given: GivenClasses
    callers: CallingFunctions

    def takes(self, function: Function, holds: Callable[[PytreeClass], bool]) -> bool:
        """Whether one of its functions takes an instance of a class of some kind, by its annotations or as `self`."""
        return self.given.takes(function, self.module, holds)

    def calling(self, called: frozenset[str]) -> frozenset[str]:
        """The names of the functions of the module that may call something of one of the names."""
        return self.callers.names(self.module, called)

    def calls_what_changes(self) -> bool:
        """Whether it may call a function of the project that changes in place what it is given."""
        resolver, bindings = self.given.model.resolver, self.module.outline.module_scope.bindings
        for name in sorted(self.unit.calls & bindings.keys()):
            symbol = resolver.follow(resolver.resolve_name(name, self.module))
            if isinstance(symbol, FunctionSymbol) and may_change_given(symbol.declaration, symbol.module.outline):
                return True
        return False

    def cls(self, qualname: str) -> PytreeClass:
        """A class of the module."""
        return self.given.cls(qualname, self.module)


class Waiting(msgspec.Struct, frozen=True):
    """What the rules that run wait for, all together."""

    #: Calls, by the last part of the name, wherever a pytree class can be seen.
    calls: frozenset[str] = frozenset()
    #: Calls, comparisons and choices in code that makes instances of pytree classes, or is given some.
    instance_calls: frozenset[str] = frozenset()
    #: Whether a rule wants to see code of a module in which a pytree class can be seen.
    predicates: tuple[Callable[[Candidate], bool], ...] = ()

    def wants(self, candidate: Candidate) -> bool:
        """Whether some rule wants to see it."""
        return any(wants(candidate) for wants in self.predicates)
