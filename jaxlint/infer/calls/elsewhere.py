"""What other modules pass to the functions of a module, for parameters without annotation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from jaxlint.infer.calls.passing import acts
from jaxlint.infer.known.values import (
    NONE,
    UNKNOWN,
    Array,
    Choice,
    ClassObject,
    Container,
    FunctionValue,
    Instance,
    Scalar,
    Symbolic,
    Value,
    joined,
    plain,
)
from jaxlint.infer.transforms.calling import is_transformed
from jaxlint.project.index import Key, TracedBy
from jaxlint.project.modules import Module
from jaxlint.project.reached import CALLED, GIVEN, IMPORTED, MODULE, SET
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Argument, Attribute, Call
from jaxlint.syntax.paths import TESTS, is_of_tests

#: Of how many modules the calls are read for one module.
_MOST_HOMES = 8

#: What the calls in a module pass for the parameters of a function; None where they do not agree, or nothing is known.
ByParameter = Mapping[str, "Value | None"]


class Passing(NamedTuple):
    """What a module does to the classes of what it passes on, by their keys."""

    #: The transformed functions that take instances.
    transformed: Mapping[Key, TracedBy]
    #: Those whose leaves it replaces by what is no array.
    replaced: frozenset[Key]
    #: Those of them whose leaves it replaces by None.
    emptied: frozenset[Key]


class Listener(Protocol):
    """Reads the calls of functions of other modules (`infer.reading.reader.ModuleReader`)."""

    def listen(
        self, module: Module, functions: Sequence[FunctionSymbol], names: Collection[str]
    ) -> dict[Key, ByParameter]:
        """What a module passes to functions that it calls by some names."""

    def passing(self, module: Module) -> Passing:
        """The classes of what a module passes to transformed functions, and those whose leaves it replaces."""


class CallsElsewhere:
    """Asks the modules that import a module what they pass to its functions."""

    def __init__(self, model: PytreeModel, listener: Callable[[], Listener]) -> None:
        self.model = model
        self._listener = listener
        self._around: dict[str, Sequence[str]] = {}
        self._passing: dict[str, Passing] = {}

    def passed(self, functions: Iterable[FunctionSymbol], module: Module) -> dict[Key, dict[str, Value]]:
        """What all calls of functions of a module in other modules agree on, by function and parameter."""
        wanted: dict[str, list[FunctionSymbol]] = {}
        for symbol in functions:
            for home in self._calling(symbol):
                wanted.setdefault(home, []).append(symbol)
        noted: dict[Key, list[ByParameter]] = {}
        for home in self._homes(module):
            here = wanted.get(home)
            if here:
                names = {called_as(symbol) for symbol in here}
                read = self.model.project.reach(home, module)
                for key, one in self._listener().listen(read, here, names).items():
                    noted.setdefault(key, []).append(one)
        agreed = {key: _agreed(several) for key, several in noted.items()}
        return {key: found for key, found in agreed.items() if any(map(acts, found.values()))}

    def passing(self, cls: PytreeClass, checked: Module | None) -> TracedBy | None:
        """A transformed function that is passed instances by the module of a class, or by a module that sees the class.

        The module that is `checked` counts, too: so far only those of its units were read that may hold a finding.
        """
        for home, passing in self._read(cls, checked):
            if cls.symbol.key in passing.transformed:
                return replace(passing.transformed[cls.symbol.key], home=home.path)
        return None

    def is_replaced(self, cls: PytreeClass, checked: Module | None) -> bool:
        """Whether such a module maps the leaves of an instance of the class to what is no array."""
        return any(cls.symbol.key in passing.replaced for _, passing in self._read(cls, checked))

    def is_emptied(self, cls: PytreeClass, checked: Module | None) -> bool:
        """Whether such a module maps the leaves of an instance of the class to None."""
        return any(cls.symbol.key in passing.emptied for _, passing in self._read(cls, checked))

    def _read(self, cls: PytreeClass, checked: Module | None) -> Iterator[tuple[Module, Passing]]:
        """What the module of a class, and those that know it, pass to transformed functions, one after the other."""
        paths = [path for path in self._homes(cls.module) if checked is None or path != checked.path]
        near = paths if len(paths) <= _MOST_HOMES else ()
        for home in (cls.module, *(self.model.project.reach(path, cls.module) for path in near)):
            if home.path not in self._passing:
                self._passing[home.path] = self._listener().passing(home)
            yield home, self._passing[home.path]

    def named(self, names: Collection[str], module: Module) -> set[str]:
        """Those of some names of functions of a module that the modules which may call them know of."""
        return {name for name in names if self._knowing(name, module)}

    def _calling(self, symbol: FunctionSymbol) -> Sequence[str]:
        """The modules that may call a function; none if they are many, or if one puts something else in its place."""
        module, knowing = symbol.module, self._ask(called_as(symbol), symbol.module)
        if any(SET in how for how in knowing.values()):
            return []
        owner = (symbol.declaration.owner or "").rpartition(".")[2]
        having: Collection[str] = self._knowing(owner, module) if owner else self._having(knowing, module)
        found = [home for home, how in knowing.items() if _is_known(how) and home in having]
        return found if len(found) <= _MOST_HOMES else []

    def _ask(self, name: str, module: Module) -> dict[str, str]:
        """How the modules that may get functions of a module know of a name, as far as they do."""
        return self.model.project.ask("mentions", name, self._homes(module), module)

    def _knowing(self, name: str, module: Module) -> list[str]:
        """Those of them that call or import something of that name."""
        return [home for home, how in self._ask(name, module).items() if _is_known(how)]

    def _having(self, knowing: Mapping[str, str], module: Module) -> set[str]:
        """Those that have a function by its name, of which they know like that, or by that of its module or package."""
        project = self.model.project
        found = {home for home, how in knowing.items() if IMPORTED in how}
        found.update(project.ask("hands on", "", knowing, module))
        for name in module.name.split("."):
            found.update(home for home, how in self._ask(name, module).items() if IMPORTED in how or MODULE in how)
        return found

    def _homes(self, module: Module) -> Sequence[str]:
        """The modules that may get functions of a module: those that import it, or a package that hands them on.

        What tests pass is no evidence: they call with what is at hand.
        """
        if module.path not in self._around:
            project, found, pending = self.model.project, dict[str, None](), [module.path]
            while pending:
                new = [
                    path
                    for path in dict.fromkeys(self.model.importing(pending.pop(0)))
                    if path not in found and path != module.path and not _is_test(project.add_file(path))
                ]
                found |= dict.fromkeys(new)
                handing = project.ask("hands on", "", new, module)
                pending += [path for path in new if path in handing or project.add_file(path).is_package]
            self._around[module.path] = list(found)
        return self._around[module.path]


def called_as(symbol: FunctionSymbol) -> str:
    """By which name a function is called: a constructor by that of its class, a method as it is kept compiled."""
    function, outline = symbol.declaration, symbol.module.outline
    if function.owner is None or function.owner not in outline.classes:
        return function.name
    if function.constructs:
        return function.constructs
    for qualname in outline.classes[function.owner].methods.get("__init__", ()):
        for assignment in outline.functions[qualname].self_assignments:
            match assignment.value:
                case Call(args=(Argument(value=Attribute(attr=function.name)), *_)) if is_transformed(assignment.value):
                    return assignment.attr  # `self.step = jax.jit(self._step)`
    return function.name


def _is_known(how: str) -> bool:
    """Whether a module that knows of a name like that may call what has it."""
    return CALLED in how or IMPORTED in how or GIVEN in how


def _is_test(module: Module) -> bool:
    """Whether a module is part of the tests of a project."""
    return is_of_tests(module.path) or not TESTS.isdisjoint(module.name.split(".")[:-1])


def _agreed(several: list[ByParameter]) -> dict[str, Value]:
    """What is passed for each parameter, if all who pass something for it pass the same."""
    names = dict.fromkeys(name for one in several for name in one)
    found: dict[str, Value] = {}
    for name in names:
        values = [one[name] for one in several if name in one]
        known = [value for value in values if value is not None]
        if len(known) == len(values) and are_alike(known):
            found[name] = carried(joined(known))
    return found


def are_alike(values: Iterable[Value]) -> bool:
    """Whether some values count as the same, besides None: instances of one class, or values of one kind."""
    given = [value for value in values if value != NONE]
    return len({cls if (cls := getattr(value, "cls", None)) is not None else type(value) for value in given}) <= 1


def carried(value: Value) -> Value:
    """What of a value holds in another module: functions with the variables around them are left behind."""
    value = plain(value)
    match value:
        case Container(items=tuple(items)):
            return Container(value.kind, tuple(map(carried, items)), UNKNOWN, value.keys, value.declared)
        case Container(element=element):
            return Container(value.kind, None, carried(element), value.keys, value.declared)
        case Instance(held=held):
            return replace(value, held=tuple((name, carried(one)) for name, one in held)) if held else value
        case Choice(options=options):
            return joined(list(map(carried, options)))
        case ClassObject() | Array() | Scalar() | Symbolic(symbol=External()):
            return value
        case FunctionValue(receiver=None, symbol=FunctionSymbol(declaration=Function(scope=""))):
            return FunctionValue(value.symbol)
    return UNKNOWN
