"""Reading modules: which units are worth parsing, and what happens in them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from dataclasses import dataclass

import libcst as cst

from jaxlint.cst import parse_unit
from jaxlint.expr import dotted
from jaxlint.infer.call_sites import CallSites
from jaxlint.infer.calls import CallEvaluator
from jaxlint.infer.declarations import Declarations
from jaxlint.infer.environment import Environment
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import Event, Place
from jaxlint.infer.flow import UnitReader
from jaxlint.infer.values import UNKNOWN, ClassObject, Instance, Scalar, Value, plain
from jaxlint.names import ClassSymbol, FunctionSymbol
from jaxlint.outline import Assignment, Binding, Class, Function, Import, Unit
from jaxlint.project import Module
from jaxlint.pytrees.build import PytreeModel
from jaxlint.source import Unreadable
from jaxlint.statements import Body
from jaxlint.translate import to_body

#: Calls that may be an update or a write, by the last part of what is called.
_UPDATES = frozenset(
    {"replace", "_replace", "setattr", "delattr", "__setattr__", "__delattr__", "apply_gradients", "create"}
)
#: Calls that make another instance of a class from inside of it.
_SELF_CONSTRUCTION = frozenset({"cls", "__class__", "type", ""})
_UNITS_KEPT = 24
_MAX_RETURN_DEPTH = 5


@dataclass(frozen=True)
class ParsedUnit:
    """A unit with its libcst tree (for positions) and its statements."""

    unit: Unit
    tree: cst.Module
    body: Body


class ModuleReader:
    """Reads the units of modules; keeps the last few that were parsed."""

    def __init__(self, model: PytreeModel) -> None:
        self.model = model
        self.evaluator = Evaluator(model)
        self.calls = CallEvaluator(self.evaluator)
        self.calls.return_of = self.return_of
        self._units: OrderedDict[tuple[str, int], ParsedUnit | None] = OrderedDict()
        self._returns: dict[object, Value] = {}
        self._reading: Module | None = None
        #: What happens in functions when they are called with instances.
        self._called: list[tuple[FunctionSymbol, ParsedUnit, list[Event]]] = []
        self.call_sites = CallSites(model)
        self.calls.note_call = self.call_sites.note
        self._return_depth = 0
        self._order: tuple[str, list[int], list[Function | Class]] = ("", [], [])
        self._renamed: tuple[str, frozenset[str]] = ("", frozenset())
        #: How many units were parsed with libcst.
        self.parsed = 0
        #: The units (path, first row) that nest too deeply to be read.
        self.unread: list[tuple[str, int]] = []

    # -- units ------------------------------------------------------------------------------

    def parsed_unit(self, module: Module, unit: Unit) -> ParsedUnit | None:
        """The statements of a unit, or None if libcst cannot read it."""
        key = (module.path, unit.first)
        if key in self._units:
            self._units.move_to_end(key)
            return self._units[key]
        try:
            source = module.source
        except Unreadable:
            return None
        text = source.text[source.offset(unit.first, 0) : source.offset(unit.last + 1, 0)]
        tree = parse_unit(text)
        self.parsed += 1
        self._units[key] = None if tree is None else ParsedUnit(unit, tree, to_body(tree.body))
        if len(self._units) > _UNITS_KEPT:
            self._units.popitem(last=False)
        return self._units[key]

    def events(self, module: Module) -> list[tuple[ParsedUnit, list[Event]]]:
        """What happens in each unit of a module that is worth reading."""
        found: list[tuple[ParsedUnit, list[Event]]] = []
        env = Environment(module, "")
        self._reading = module
        self._called = []
        self.call_sites.start()
        for unit in self._worth_reading(module):
            parsed = self.parsed_unit(module, unit)
            if parsed is None:
                self.unread.append((module.path, unit.first))
                continue
            events: list[Event] = []
            declarations = Declarations(self._declared(module, unit), parsed.body)
            reader = UnitReader(self.evaluator, self.calls, module, declarations)
            place = Place(module, subclasses=self.model.subclasses)
            try:
                reader.read(parsed.body, env, events, place)
            except RecursionError:
                self.unread.append((module.path, unit.first))
            if events:
                found.append((parsed, events))
        return found + [
            (parsed, events) for function, parsed, events in self._called if events and self.call_sites.agree(function)
        ]

    def _worth_reading(self, module: Module) -> list[Unit]:
        units = module.outline.units
        wanted = self._with_callers([u for u in units if u.kind != "import" and self._triggers(u, module)], module)
        if any(u.kind == "code" for u in wanted):
            # a script: what a statement does depends on the statements before it
            chosen = {id(u) for u in wanted}
            wanted = [u for u in units if u.kind == "code" or id(u) in chosen]
        return wanted

    def _with_callers(self, wanted: list[Unit], module: Module) -> list[Unit]:
        """The units, with those that tell what the parameters without annotation in them are."""
        units = module.outline.units
        naming: dict[str, list[Unit]] = {}
        calling: dict[str, list[Unit]] = {}
        for unit in units:
            for name in unit.references:
                naming.setdefault(name, []).append(unit)
            for name in unit.calls:
                calling.setdefault(name, []).append(unit)
        chosen = {u.first for u in wanted}
        pending = list(wanted)
        while pending:
            for declared in self._declared(module, pending.pop()):
                if not isinstance(declared, Function) or not _lacks_annotations(declared):
                    continue
                callers = naming.pop(declared.qualname, []) if not declared.scope else []
                if declared.owner is not None:
                    callers = callers + calling.pop(declared.name, [])
                pending += [u for u in callers if u.first not in chosen]
                chosen |= {u.first for u in callers}
        return [u for u in units if u.first in chosen]

    def _triggers(self, unit: Unit, module: Module) -> bool:
        outline = module.outline
        if unit.stores or unit.calls & (_UPDATES | self._renamed_updates(module)):
            return True
        for qualname in unit.self_stores:
            cls = self.model.build(ClassSymbol(module, outline.classes[qualname]))
            if cls.is_pytree and (cls.frozen is not False or cls.static_fields):
                return True
        if unit.calls & _SELF_CONSTRUCTION:
            for qualname in unit.classes:
                if self.model.build(ClassSymbol(module, outline.classes[qualname])).static_fields:
                    return True
        return any(self._constructs_static(name, module) for name in unit.calls)

    def _renamed_updates(self, module: Module) -> frozenset[str]:
        """The other names of update functions in a module (`from dataclasses import replace as r`)."""
        if self._renamed[0] != module.path:
            names = frozenset(
                name
                for scope in module.outline.scopes.values()
                for name, bindings in scope.bindings.items()
                if any(_is_update(b) for b in bindings)
            )
            self._renamed = (module.path, names)
        return self._renamed[1]

    def _constructs_static(self, name: str, module: Module) -> bool:
        """Whether a call of `name` may construct a class that has static fields."""
        if name in module.outline.module_scope.bindings:
            symbol = self.model.resolver.follow(self.model.resolver.resolve_name(name, module))
            cls = self.model.class_of_symbol(symbol)
            if cls is not None:
                return bool(cls.static_fields)
        return name in self.model.static_class_names

    def _declared(self, module: Module, unit: Unit) -> list[Function | Class]:
        """The functions and classes that a unit declares, in source order."""
        path, rows, ordered = self._order
        if path != module.path:
            outline = module.outline
            ordered = sorted(
                (*outline.functions.values(), *outline.classes.values()), key=lambda d: (d.at.row, d.at.column)
            )
            rows = [d.at.row for d in ordered]
            self._order = (module.path, rows, ordered)
        return ordered[bisect_left(rows, unit.first) : bisect_right(rows, unit.last)]

    # -- return values ----------------------------------------------------------------------

    def return_of(self, symbol: FunctionSymbol, receiver: Value | None, passed: dict[str, Value]) -> Value:
        """What a function returns, read from its body, for what is `passed` for parameters without annotation.

        If that makes something happen in the module being read, it is noted.
        """
        declaration = symbol.declaration
        if not declaration.return_values and not passed:
            return Scalar("NoneType") if declaration.statements else UNKNOWN
        known = plain(receiver) if receiver is not None else None
        noting = bool(passed) and self.calls.events is not None and symbol.module is self._reading
        key = (symbol.key, known, tuple(sorted(passed.items())), noting)
        if key in self._returns:
            return self._returns[key]
        if self._return_depth >= _MAX_RETURN_DEPTH:
            return UNKNOWN
        self._returns[key] = UNKNOWN  # a recursive function tells nothing
        self._return_depth += 1
        try:
            self._returns[key] = result = self._read_return(symbol, known, passed, noting)
        finally:
            self._return_depth -= 1
        return result

    def _read_return(
        self, symbol: FunctionSymbol, receiver: Value | None, passed: dict[str, Value], noting: bool
    ) -> Value:
        module, declaration = symbol.module, symbol.declaration
        units = module.outline.units
        unit = units[bisect_right(units, declaration.at.row, key=lambda u: u.first) - 1]
        parsed = self.parsed_unit(module, unit)
        if parsed is None:
            return UNKNOWN
        declarations = Declarations(self._declared(module, unit), parsed.body)
        node = declarations.statement_of(declaration)
        if node is None:
            return UNKNOWN
        owner = receiver.cls if isinstance(receiver, (Instance, ClassObject)) else None
        place = Place(module, (declaration,), owner, self.model.subclasses)
        if declaration.owner is not None and receiver is None:
            return UNKNOWN
        reader = UnitReader(self.evaluator, self.calls, module, declarations)
        events: list[Event] | None = None
        if noting:
            events = []
            self._called.append((symbol, parsed, events))
        return reader.value_returned(node, declaration, receiver, place, passed, events)


def _lacks_annotations(function: Function) -> bool:
    """Whether a parameter other than `self` has no annotation."""
    own = function.parameters[1:] if function.self_name is not None else function.parameters
    return any(p.annotation is None and p.kind in ("positional", "keyword") for p in own)


def _is_update(binding: Binding) -> bool:
    """Whether a name is bound to a function that updates or writes, under whatever name."""
    if isinstance(binding, Import):
        return binding.name in _UPDATES
    value = binding.value if isinstance(binding, Assignment) else None
    return value is not None and (dotted(value) or "").rpartition(".")[2] in _UPDATES
