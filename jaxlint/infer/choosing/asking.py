"""Which functions of a module are read once more, with what other modules pass to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxlint.infer.calls.elsewhere import CallsElsewhere, called_as
from jaxlint.infer.choosing.handling import handled, unknown_names
from jaxlint.infer.choosing.pieces import called_names, has_bare_parameters
from jaxlint.infer.choosing.triggers import Triggers
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.libraries.transforms import Kind
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.symbols.outline import Function


class FunctionsToAsk:
    """Chooses among the functions that may be given something of unknown class, by module-level name."""

    def __init__(self, triggers: Triggers, elsewhere: CallsElsewhere) -> None:
        self.triggers = triggers
        self.elsewhere = elsewhere

    def of(self, module: Module, read: Sequence[CodeRead]) -> list[Function]:
        """Those that handle what they are given like instances, as their bodies tell, and those that call them."""
        if not read or not self._may_see_pytrees(module):
            return []
        given = {f.qualname: f for f in self._given_something(module)}
        names = {qualname: called_as(FunctionSymbol(module, f)) for qualname, f in given.items()}
        called = self._called_elsewhere(given, names, module)
        if not called:
            return []
        inside = frozenset[str]().union(*(unit.calls for unit in module.outline.units))
        reached = called | {qualname for qualname, name in names.items() if name in inside}
        handling = self._handling(read, {qualname: given[qualname] for qualname in given if qualname in reached})
        if handling:
            called_by = frozenset(name for f in handling.values() for name in called_names(f))
            callers = self.triggers.calling.names(module, called_by)
            handling |= {qualname: given[qualname] for qualname in called if given[qualname].name in callers}
        return list(handling.values())

    def _may_see_pytrees(self, module: Module) -> bool:
        """Whether who imports a module may pass instances to its functions."""
        index = self.triggers.model.project_index
        return module.path in index.imports.importers and (
            module.path in index.seeing or self.triggers.may_be_given_pytrees(module)
        )

    def _given_something(self, module: Module) -> Iterator[Function]:
        """The functions that are given something of unknown class, themselves or by the constructor of their class."""
        for function in module.outline.functions.values():
            if "<locals>" not in function.scope and (
                has_bare_parameters(function) or (function.owner and self.triggers.given.maker(function, module))
            ):
                yield function

    def _called_elsewhere(
        self, given: Mapping[str, Function], names: Mapping[str, str], module: Module
    ) -> frozenset[str]:
        """Those of some functions that other modules may call, or whose class they may make instances of."""
        makers = {
            qualname: self.triggers.given.maker(function, module).rpartition(".")[2] if function.owner else ""
            for qualname, function in given.items()
        }
        named = self.elsewhere.named({*names.values(), *makers.values()} - {""}, module)
        return frozenset([qualname for qualname in given if names[qualname] in named or makers[qualname] in named])

    def _handling(self, read: Sequence[CodeRead], functions: Mapping[str, Function]) -> dict[str, Function]:
        """Those of some functions that use an argument like an instance, themselves or in a function inside."""
        is_updating = self.triggers.model.project_index.updating_method_names.__contains__
        handling: dict[str, Function] = {}
        for code in read:
            around = functions.get("" if code.function is None else code.function.qualname.partition(".<locals>")[0])
            if around is None or around.qualname in handling:
                continue
            unknown = unknown_names(code, self.triggers.given)
            if unknown and (_is_compiled(code) or not unknown.isdisjoint(handled(code, is_updating))):
                handling[around.qualname] = around
        return handling


def _is_compiled(code: CodeRead) -> bool:
    """Whether a body is that of a compiled function, which may do anything to what it is given."""
    return any(one.transform.kind is Kind.JIT for one in code.applied)
