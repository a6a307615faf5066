"""Who calls a function with what: whether the parameters without annotation are determined by the calls."""

from __future__ import annotations

from jaxlint.infer.values import UnknownValue, Value, is_informative, plain
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.symbols.outline import Function, Import


class CallSites:
    """The calls that the module being read makes to its own functions.

    What a call passes is believed only if every other call that is seen passes the same class, and if no
    other module can call the function.
    """

    def __init__(self, model: PytreeModel) -> None:
        self.model = model
        #: What is passed for each parameter, by function.
        self._passed: dict[tuple[str, str], dict[str, set[Value]]] = {}
        #: The functions in which something unknown is passed on, by parameter; "" outside of functions.
        self._unknown: dict[tuple[str, str], dict[str, set[str]]] = {}
        #: The functions to which something is passed that is known, and those that are read again with it.
        self._informed: set[str] = set()
        self._told: set[str] = set()

    def start(self) -> None:
        """Forget the calls of the module before."""
        self._passed, self._unknown, self._informed, self._told = {}, {}, set(), set()

    def note(self, function: FunctionSymbol, passed: dict[str, Value], caller: Function | None) -> None:
        """Note one call: what it passes for the parameters that have no annotation."""
        for name, value in passed.items():
            value = plain(value)
            if isinstance(value, UnknownValue):
                where = caller.qualname if caller is not None else ""
                self._unknown.setdefault(function.key, {}).setdefault(name, set()).add(where)
            else:
                self._passed.setdefault(function.key, {}).setdefault(name, set()).add(value)
                self._informed.add(function.declaration.qualname)
                if is_informative(value):
                    self._told.add(function.declaration.qualname)

    def agree(self, function: FunctionSymbol) -> bool:
        """Whether all calls pass the same for each parameter, as far as it can be seen."""
        passed = self._passed.get(function.key, {})
        if any(len({_kind(v) for v in values}) > 1 for values in passed.values()):
            return False
        for name, callers in self._unknown.get(function.key, {}).items():
            if name in passed and not all(map(self._is_informed, callers)):
                return False
        return not self._used_elsewhere(function)

    def _is_informed(self, caller: str) -> bool:
        """Whether a function is read again with what it is given: it, or one around it, from where it sees that."""
        if caller in self._informed:
            return True
        while caller := caller.rpartition(".<locals>.")[0]:
            if caller in self._told:
                return True
        return False

    def _used_elsewhere(self, function: FunctionSymbol) -> bool:
        """Whether another module that imports this one may call the function, or construct the class that it makes."""
        declaration = function.declaration
        is_constructor = declaration.owner is not None and declaration.name == "__init__"
        name = (declaration.owner or "").rpartition(".")[2] if is_constructor else declaration.name
        if declaration.owner is None and declaration.scope:  # it comes out of the function around
            name = declaration.qualname.partition(".<locals>")[0].rpartition(".")[2]
        for module in self.model.importers(function.module):
            if any(name in unit.calls for unit in module.outline.units):
                return True
            for bindings in module.outline.module_scope.bindings.values():
                if any(isinstance(b, Import) and b.name == name for b in bindings):
                    return True
        return False


def _kind(value: Value) -> object:
    """What two values must have in common to count as the same."""
    cls = getattr(value, "cls", None)
    return cls if cls is not None else type(value)
