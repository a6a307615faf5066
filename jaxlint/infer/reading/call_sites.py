"""Who calls a function with what: whether the parameters without annotation are determined by the calls."""

from __future__ import annotations

from jaxlint.infer.calls.elsewhere import are_alike, called_as
from jaxlint.infer.calls.passing import decides
from jaxlint.infer.known.values import UnknownValue, Value, is_informative, joined, plain
from jaxlint.project.index import Key
from jaxlint.project.reached import CALLED, IMPORTED
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.symbols.outline import Function


class CallSites:
    """The calls that the module being read makes to its own functions.

    What a call passes is believed only if every other call that is seen passes the same class, and if no
    other module can call the function, or those that do were asked.
    """

    def __init__(self, model: PytreeModel) -> None:
        self.model = model
        #: What is passed for each parameter, by function.
        self._passed: dict[Key, dict[str, dict[Value, None]]] = {}
        #: The functions in which something unknown is passed on, by parameter; "" outside of functions.
        self._unknown: dict[Key, dict[str, set[str]]] = {}
        #: The functions that are read again with something that is passed to them.
        self._informed: set[str] = set()
        #: The functions whose callers in other modules were looked up.
        self.asked: set[Key] = set()
        #: The functions of other modules whose calls are listened to.
        self.watched: frozenset[Key] = frozenset()

    def start(self, watched: frozenset[Key] = frozenset()) -> None:
        """Forget the calls of the module before; those of the functions that are `watched` are wanted."""
        self._passed, self._unknown, self._informed = {}, {}, set()
        self.asked, self.watched = set(), watched

    def note(self, function: FunctionSymbol, passed: dict[str, Value], caller: Function | None) -> None:
        """Note one call: what it passes for the parameters that have no annotation."""
        for name, value in passed.items():
            value = plain(value)
            if isinstance(value, UnknownValue):
                where = caller.qualname if caller is not None else ""
                self._unknown.setdefault(function.key, {}).setdefault(name, set()).add(where)
            else:
                self._passed.setdefault(function.key, {}).setdefault(name, {})[value] = None
                if function.key not in self.watched and is_informative(value):
                    self._informed.add(function.declaration.qualname)

    def agree(self, function: FunctionSymbol) -> bool:
        """Whether all calls pass the same for each parameter, as far as it can be seen."""
        passed = {n: values for n, values in self._passed.get(function.key, {}).items() if any(map(decides, values))}
        if not all(map(are_alike, passed.values())):
            return False
        for name, callers in self._unknown.get(function.key, {}).items():
            if name in passed and not all(map(self._is_informed, callers)):
                return False
        return function.key in self.asked or not self._used_elsewhere(function)

    def passed_to(self, function: FunctionSymbol) -> dict[str, Value | None]:
        """What calls pass for each parameter of a function; None where they do not agree, or it is not known."""
        passed, unknown = self._passed.get(function.key, {}), self._unknown.get(function.key, {})
        agreed: dict[str, Value | None] = dict.fromkeys((*passed, *unknown))
        for name, values in passed.items():
            if all(map(self._is_informed, unknown.get(name, ()))) and are_alike(values):
                agreed[name] = joined(list(values))
        return agreed

    def uninformed(self) -> list[str]:
        """The functions whose parameters go on to watched functions, while nobody knows yet what they are given."""
        unknown = [found for key, found in self._unknown.items() if key in self.watched]
        callers = {caller for found in unknown for several in found.values() for caller in several if caller}
        return sorted(callers - self._informed)

    def _is_informed(self, caller: str) -> bool:
        """Whether a function is read again with what it is given: it, or one around it, from where it sees that."""
        while caller not in self._informed:
            caller = caller.rpartition(".<locals>.")[0]
            if not caller:
                return False
        return True

    def _used_elsewhere(self, function: FunctionSymbol) -> bool:
        """Whether another module that imports this one may call the function, or construct the class that it makes."""
        declaration, name = function.declaration, called_as(function)
        if declaration.owner is None and declaration.scope:  # it comes out of the function around
            name = declaration.qualname.partition(".<locals>")[0].rpartition(".")[2]
        module = function.module
        knowing = self.model.project.ask("mentions", name, self.model.importing(module.path), module)
        return any(CALLED in how or IMPORTED in how for how in knowing.values())
