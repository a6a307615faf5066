"""The calls that register classes: after the declaration, in functions, in modules that import the class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from jaxlint.libraries.neutral import NEUTRAL_DECORATORS
from jaxlint.project.modules import Module, Project
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol, Resolver, Unknown, ValueSymbol
from jaxlint.pytrees.callee import Callee, CalleeFinder
from jaxlint.pytrees.frameworks import (
    BY_DECORATOR,
)
from jaxlint.pytrees.frameworks.jax_register import FLATTENING
from jaxlint.symbols.names_used import calls_outside
from jaxlint.symbols.outline import (
    CLASS_PARAMETERS,
    Class,
    Definition,
    Import,
)
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Constant,
    Name,
    dotted,
)

#: The functions that register a class, by the last part of their names.
REGISTERING = frozenset(n.rpartition(".")[2] for n in BY_DECORATOR if n.startswith("jax.tree_util."))
#: Those of them that are given how to take instances apart and make them.
WITH_FUNCTIONS = frozenset(name.rpartition(".")[2] for name in FLATTENING)
#: Methods that run when a subclass, or a class with that metaclass, is created.
_CLASS_HOOKS = frozenset({"__init_subclass__", "__init__", "__new__"})
#: How functions of a project are called that may register a class.
_TELLING_WORDS = ("register", "pytree", "dataclass")


class Registrations:
    """The registering calls of a project, looked up by class.

    `importing` gives the paths of the modules that import that of a path, `registering` the modules that may register
    an imported class of a name.
    """

    def __init__(
        self,
        project: Project,
        resolver: Resolver,
        callees: CalleeFinder,
        importing: Callable[[str], Sequence[str]],
        registering: Callable[[str, Module], list[Module]],
    ) -> None:
        self.project = project
        self.resolver = resolver
        self.callees = callees
        self.importing = importing
        self.registering = registering
        self._registrations: dict[str, dict[str, list[tuple[Callee | None, Call, bool]]]] = {}
        #: The calls that modules make outside of functions, without those that register nothing: each with the last
        #: part of the name, and whether it certainly registers something.
        self._telling: dict[str, list[tuple[Call, str, bool]]] = {}
        #: The functions of modules that register what they are given.
        self._wrappers: dict[str, frozenset[str] | None] = {}

    def of_class(self, symbol: ClassSymbol) -> list[tuple[Callee | None, Call, bool]]:
        """The calls that a module makes with one of its classes after declaring it, and that may register it.

        With each: the known function that is called in the end, or None if it is a function of the project; the call
        itself, and whether it is guarded (need not happen, or may fail).
        """
        path = symbol.module.path
        if path not in self._registrations:
            found: dict[str, list[tuple[Callee | None, Call, bool]]] = {}
            for call, guarded in calls_outside(symbol.module.outline):
                if not call.args or not isinstance(call.args[0].value, (Name, Attribute)):
                    continue
                declared = _named_class(symbol.module, dotted(call.args[0].value) or "", call)
                if declared is None:
                    continue
                callee = self.callees.of_call(call, symbol.module, "")
                if callee is not None and callee.name in BY_DECORATOR:
                    found.setdefault(declared.qualname, []).append((callee, call, guarded))
                elif isinstance(self.resolver.resolve(call.func, symbol.module), FunctionSymbol):
                    found.setdefault(declared.qualname, []).append((None, call, guarded))
            self._registrations[path] = found
        return self._registrations[path].get(symbol.declaration.qualname, [])

    def of_importer(self, symbol: ClassSymbol) -> tuple[Callee, Call, Module] | None:
        """The one call outside of functions that registers an imported class, and its module; None if none is sure to.

        Where several do, or one that may fail or not happen, what becomes of the class is unknown.
        """
        found: list[tuple[Callee, Call, Module]] = []
        for module in self.registering(symbol.declaration.name, symbol.module):
            for call, guarded in calls_outside(module.outline):
                given = self.resolver.resolve(call.positional[0], module) if call.positional else None
                if not isinstance(given, ClassSymbol) or given.key != symbol.key:
                    continue
                callee = self.callees.of_call(call, module, "")
                if guarded or callee is None or callee.name not in BY_DECORATOR:
                    return None
                found.append((callee, call, module))
        return found[0] if len(found) == 1 else None

    def gives_to_registering(self, paths: Iterable[str], symbol: ClassSymbol) -> bool:
        """Whether a statement in one of some modules may give the class to a function that registers it."""
        word = " ".join((symbol.declaration.name, *sorted(REGISTERING)))
        return bool(self.project.ask("gives", word, paths, symbol.module))

    def may_register(self, symbol: ClassSymbol) -> bool:
        """Whether code that is neither a decorator of the class nor a plain call after it may register it.

        That is a call in a loop, in a function or in a module that imports the class.
        """
        path = symbol.module.path
        if path not in self._wrappers:
            self._wrappers[path] = _registering_functions(symbol.module)
        wrappers = self._wrappers[path]
        if wrappers is None:
            return True
        if self._may_register(symbol.module, symbol, wrappers):
            return True
        calling = self.project.ask("calls", "", self.importing(path), symbol.module)
        importers = (self.project.reach(one, symbol.module) for one in calling)
        return any(self._may_register(importer, symbol, wrappers) for importer in importers)

    def _may_register(self, module: Module, symbol: ClassSymbol, wrappers: frozenset[str]) -> bool:
        """Whether a call outside of functions registers the class, or something that cannot be determined."""
        for call, name, registers in self._telling_calls(module):
            if not (registers or name in wrappers or any(word in name for word in _TELLING_WORDS)):
                continue
            given = [self.resolver.resolve(a, module) for a in call.positional if not isinstance(a, (Constant, Call))]
            if symbol in given or any(isinstance(g, (Unknown, ValueSymbol)) for g in given[:1]):
                return True
        return False

    def _telling_calls(self, module: Module) -> list[tuple[Call, str, bool]]:
        """The calls outside of functions that may register a class."""
        found = self._telling.get(module.path)
        if found is None:
            found = self._telling[module.path] = []
            for call, _ in calls_outside(module.outline):
                callee = self.callees.of_call(call, module, "")
                if callee is None or callee.name not in NEUTRAL_DECORATORS:
                    registers = callee is not None and callee.name in BY_DECORATOR
                    found.append((call, (dotted(call.func) or "").rpartition(".")[2], registers))
        return found


def _registering_functions(module: Module) -> frozenset[str] | None:
    """The functions of a module that register a class that they are given; None if one registers something else."""
    outline = module.outline
    renamed = {
        name
        for name, bindings in outline.module_scope.bindings.items()
        if any(isinstance(b, Import) and b.name in REGISTERING for b in bindings)
    }
    found: set[str] = set()
    for unit in outline.units:
        if unit.kind != "definition" or unit.calls.isdisjoint(REGISTERING | renamed):
            continue
        inside = [f for f in outline.functions.values() if unit.first <= f.at.row <= unit.last]
        own = [f for f in inside if f.owner is not None]
        if own and any(f.name in _CLASS_HOOKS for f in own):
            continue  # that is for the subclasses, and known from them
        takes_class = any(f.parameters and f.parameters[0].name in CLASS_PARAMETERS for f in inside)
        if unit.classes or not takes_class:
            return None
        found.update(f.name for f in inside if not f.scope)
    callers = (u for u in outline.units if u.kind == "definition" and not u.classes and u.calls & found)
    return None if any(not u.calls & REGISTERING for u in callers) else frozenset(found)


def _named_class(module: Module, name: str, call: Call) -> Class | None:
    """The class of a module that a name means in a call: the last of that name before it."""
    outline = module.outline
    if "." in name:
        return outline.classes.get(name)
    bindings = outline.module_scope.bindings.get(name, ())
    declared = (outline.classes[b.qualname] for b in bindings if isinstance(b, Definition) and b.kind == "class")
    found = [cls for cls in declared if cls.at.row < call.at.row]
    return found[-1] if found else None
