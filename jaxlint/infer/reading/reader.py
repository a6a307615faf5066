"""Reading modules: what happens in the units that are worth parsing, and what functions return."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec.structs import replace

from jaxlint.infer.bodies.declarations import Declarations
from jaxlint.infer.calls.calls import CallEvaluator
from jaxlint.infer.calls.elsewhere import ByParameter, CallsElsewhere, Passing
from jaxlint.infer.calls.holding import constructor_of
from jaxlint.infer.calls.passing import worth_passing, worth_telling
from jaxlint.infer.calls.transformed_classes import TracedClasses
from jaxlint.infer.choosing.asking import FunctionsToAsk
from jaxlint.infer.choosing.pieces import has_bare_parameters
from jaxlint.infer.choosing.rows import Rows
from jaxlint.infer.choosing.triggers import Triggers
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Event, Place
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.values import UNKNOWN, ClassObject, Instance, Scalar, Value, holds_given, plain
from jaxlint.infer.reading.at_each_call import at_each_call
from jaxlint.infer.reading.call_sites import CallSites
from jaxlint.infer.reading.flow import UnitReader
from jaxlint.infer.transforms.applied import Applied
from jaxlint.infer.transforms.calling import piece_of
from jaxlint.libraries.transforms import LAST_NAMES
from jaxlint.project.index import Key
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.symbols.bodies import shows_body
from jaxlint.symbols.names_used import imports_in
from jaxlint.symbols.outline import Function, Unit
from jaxlint.symbols.parsing import read_statements
from jaxlint.syntax.by_text import ByText
from jaxlint.syntax.from_ast import to_body
from jaxlint.syntax.source import Source, Unreadable
from jaxlint.syntax.statements import Body, FunctionDefinition, Return

_UNITS_STORED = 24
_DEFINITIONS_STORED = 256
#: How many functions of a unit are read by themselves, when they are asked for; for the next one all of it is read.
_FEW_FUNCTIONS = 16
_MAX_RETURN_DEPTH = 5
#: Through how many modules it is asked who calls whom.
_MOST_STEPS = 2


class ModuleReader:
    """Reads the units of modules; keeps the last few that were parsed."""

    def __init__(self, model: PytreeModel, evaluator: Evaluator | None = None) -> None:
        self.model = model
        self.evaluator = evaluator or Evaluator(model)
        self.call_sites = CallSites(model)
        self.note_call = self.call_sites.note
        self.calls = CallEvaluator(self.evaluator, self)
        self.evaluator.traced = self.traced = TracedClasses(self.evaluator)
        self._units: OrderedDict[tuple[str, int, object], Body | None] = OrderedDict()
        #: How many functions of a unit (path, first row) were read by themselves.
        self._by_themselves: Counter[tuple[str, int]] = Counter()
        #: The declarations of units all of which was read, beside its statements.
        self._whole: dict[tuple[str, int], tuple[Body, Declarations]] = {}
        #: Units that were parsed by other readers, if they are stored.
        self.stored_units: ByText[Body | None] | None = None
        #: Called before each unit is read; what it raises ends the reading.
        self.step: Callable[[], None] = lambda: None
        self._returns: dict[object, Value] = {}
        #: The functions that were looked into for the module that is checked.
        self._definitions: dict[Key, tuple[Declarations, FunctionDefinition] | None] = {}
        #: Whether other modules look into functions.
        self._shown: dict[tuple[str, str], bool] = {}
        self._reading: Module | None = None
        #: The module that is checked.
        self.checked: Module | None = None
        #: What happens in functions when they are called with instances; and the constructor that was given those which
        #: their `self` holds.
        self._called: list[tuple[FunctionSymbol, FunctionSymbol | None, list[Event]]] = []
        self.triggers = Triggers(model, self.calls.transformed, self.evaluator.annotations, self.calls.calling)
        self.evaluator.passed_by_calls = self._agreed_on
        self.elsewhere = CallsElsewhere(model, self._listener)
        self.to_ask = FunctionsToAsk(self.triggers, self.elsewhere)
        self.traced.elsewhere = lambda cls: self.elsewhere.passing(cls, self.checked)
        self.traced.replaced_elsewhere = lambda cls: self.elsewhere.is_replaced(cls, self.checked)
        self.traced.emptied_elsewhere = lambda cls: self.elsewhere.is_emptied(cls, self.checked)
        #: Reads the calls in other modules, once that is needed; how many readers listen for others.
        self.listening: ModuleReader | None = None
        self._steps = 0
        self._return_depth = 0
        #: The units (path, first row) that nest too deeply to be read.
        self.unread: list[tuple[str, int]] = []

    # -- units ------------------------------------------------------------------------------

    def statements(self, module: Module, unit: Unit, rows: Rows | None = None) -> Body | None:
        """The statements of a unit, without the functions that the rows do not hold; None if they cannot be read."""
        key = (module.path, unit.first, None if rows is None or not unit.pieces else rows.places)
        if key in self._units:
            self._units.move_to_end(key)
            return self._units[key]
        try:
            source = module.source
        except Unreadable:
            return None
        left_out = [] if rows is None else [p for p in unit.pieces if p.kind == "function" and not rows.hold(p.first)]
        tree = None if module.trees is None else module.trees.statements(module.path, unit, {p.last for p in left_out})
        self._units[key] = self._parsed(_text(unit, left_out, source), unit.first) if tree is None else to_body(tree)
        if len(self._units) > _UNITS_STORED:
            self._units.popitem(last=False)
        return self._units[key]

    def _parsed(self, text: str, row: int) -> Body | None:
        """The statements of a text that starts in a row."""
        stored = self.stored_units
        if stored is not None and (text, row) in stored:
            return stored[text, row]
        statements = read_statements(text, row)
        body = None if statements is None else to_body(statements)
        if stored is not None:
            stored[text, row] = body
        return body

    def events(self, module: Module, rows: Collection[int] | None = None) -> list[list[Event]]:
        """The events in each unit of a module that is worth reading, or in the units around some rows."""
        chosen = self.triggers.worth_reading(module) if rows is None else self.triggers.holding(rows, module)
        return self._events(module, chosen)

    def _events(self, module: Module, chosen: Sequence[tuple[Unit, Rows]]) -> list[list[Event]]:
        self.start(module, chosen)
        env = Environment(module, "")
        read = [self.read_unit(module, unit, rows, env) for unit, rows in chosen]
        found = [events for events in read if events]
        read_code = [event for events in found for event in events if isinstance(event, CodeRead)]
        constructors = _constructors(read_code)
        informed = self._read_constructors(constructors, module)
        self._ask(self.to_ask.of(module, read_code), module)
        self._read_constructors([f for f in constructors if f.qualname not in informed], module)
        join_statements(found)
        return found + [events for _, events in self.called()]

    def begin(self, module: Module) -> None:
        """Begin to check a module: nothing that was read for another one counts."""
        self.checked = module
        self._definitions.clear()
        self.call_sites.start()
        self.calls.transformed.start(module)
        self.traced.start()
        self.calls.named_classes.start()

    def start(self, module: Module, chosen: Sequence[tuple[Unit, Rows]]) -> None:
        """Begin with the units of a module that are worth reading, or begin again."""
        if self._reading is module:  # calls are to tell again what happens in functions
            self._returns.clear()
        self._reading = module
        self._called = []
        self.begin(module)
        declared = [d for unit, _ in chosen for d in self.triggers.declared(module, unit) if isinstance(d, Function)]
        declared += self._transforming(module, chosen)
        taking = frozenset([d.name for d in declared if d.owner is None and has_bare_parameters(d)])
        self.calls.deferral.start(self.triggers.eventful_names(module, declared), taking)

    @staticmethod
    def _transforming(module: Module, chosen: Sequence[tuple[Unit, Rows]]) -> Iterator[Function]:
        """The functions that some units call, and in which something may be transformed."""
        called = frozenset[str]().union(*(unit.calls for unit, _ in chosen))
        for function in module.outline.functions.values():
            if function.name in called and not piece_of(function, module.outline).calls.isdisjoint(LAST_NAMES):
                yield function

    def read_unit(self, module: Module, unit: Unit, rows: Rows, env: Environment) -> list[Event]:
        """What happens in a unit of the module that was begun with."""
        self.step()
        events: list[Event] = []
        body = self.statements(module, unit, rows)
        if body is None:
            self.unread.append((module.path, unit.first))
            return events
        declarations = Declarations(self.triggers.declared(module, unit), body)
        reader = UnitReader(self.evaluator, self.calls, module, declarations)
        reader.stores_items = "[]" in unit.methods
        place = Place(module, subclasses=self.model.subclasses, applied=self._applied)
        try:
            reader.read(body, env, events, place)
        except RecursionError:
            self.unread.append((module.path, unit.first))
        return events

    def called(self) -> list[tuple[FunctionSymbol, list[Event]]]:
        """What happens in functions of the module when they are called.

        Where the calls pass different things, the function is read for each call by itself.
        """
        found: list[tuple[FunctionSymbol, list[Event]]] = []
        for function, made_by, events in self._called:
            if events and not (self.call_sites.agree(function) and (made_by is None or self.call_sites.agree(made_by))):
                events = at_each_call(events, self.body_of(function) or ())
            if events:
                found.append((function, events))
        return found

    def note_called(self, function: FunctionSymbol, events: list[Event]) -> None:
        """Keep what happens in a function that another one has returned, when it is called."""
        self._called.append((function, None, events))

    def _agreed_on(self, function: FunctionSymbol, name: str) -> Value:
        """What all calls that were seen pass for a parameter of a function of the module that is checked."""
        if function.module is not self.checked or not self.call_sites.agree(function):
            return UNKNOWN
        return self.call_sites.passed_to(function).get(name) or UNKNOWN

    # -- what other modules pass ---------------------------------------------------------------

    def _ask(self, functions: Sequence[Function], module: Module) -> None:
        """Read functions of the module with what other modules pass to them, and give to the constructors of `self`."""
        symbols = {f.qualname: FunctionSymbol(module, f) for f in functions}
        for function in functions:
            symbols |= {maker.key[1]: maker for maker in self._maker(function, module)}
        elsewhere = self.elsewhere.passed(symbols.values(), module) if symbols else {}
        for function in functions if elsewhere else ():
            symbol = symbols[function.qualname]
            makers = [maker.key for maker in self._maker(function, module)]
            receiver = self._given_receiver(function, module, [elsewhere[key] for key in makers if key in elsewhere])
            passed = elsewhere.get(symbol.key, {})
            if passed or holds_given(receiver):
                self.call_sites.note(symbol, passed, None)
                self.call_sites.asked.update((symbol.key, *makers))
                self._read_given(symbol, receiver, worth_telling(passed))

    def _read_constructors(self, constructors: Sequence[Function], module: Module) -> set[str]:
        """Read constructors of ordinary classes with what the module itself passes; the names of those that were."""
        read: set[str] = set()
        for function in constructors:
            symbol = FunctionSymbol(module, function)
            passed = {name: value for name, value in self.call_sites.passed_to(symbol).items() if value is not None}
            if passed:
                self._read_given(symbol, self._given_receiver(function, module, ()), worth_passing(passed))
                read.add(function.qualname)
        return read

    def _read_given(self, function: FunctionSymbol, receiver: Value | None, passed: dict[str, Value]) -> None:
        """Read a function of the module with what it is given, and note what happens in it."""
        notes = self.calls.notes
        notes.events = []
        notes.place = Place(function.module, subclasses=self.model.subclasses, applied=self._applied)
        try:
            self.return_of(function, receiver, passed)
        finally:
            notes.events = notes.place = None

    def _maker(self, function: Function, module: Module) -> list[FunctionSymbol]:
        """The constructor of the class of a method that reads what that is given, if it is one."""
        owner = self.triggers.given.maker(function, module) if function.owner is not None else ""
        init = constructor_of(self.triggers.given.cls(owner, module)) if owner else None
        return [] if init is None else [init]

    def _given_receiver(self, function: Function, module: Module, given: Sequence[dict[str, Value]]) -> Value | None:
        """The `self` of a method, with what its constructor is given."""
        if function.owner is None:
            return None
        owner = self.triggers.given.cls(function.owner, module)
        receiver = self.evaluator.receiver(function, owner)
        if len(given) == 1 and isinstance(receiver, Instance) and not owner.is_pytree:
            stored = self.calls.stored_parameters(owner)
            held = {stored[name]: value for name, value in given[0].items() if name in stored}
            return replace(receiver, refilled=True, held=tuple(sorted(worth_passing(held).items())))
        return receiver

    def _listener(self) -> ModuleReader:
        """Another reader, which reads the calls in other modules."""
        if self.listening is None:
            self.listening = ModuleReader(self.model)
            self.listening._steps = self._steps + 1
        self.listening.stored_units, self.listening.step = self.stored_units, self.step
        return self.listening

    def listen(
        self, module: Module, functions: Sequence[FunctionSymbol], names: Collection[str]
    ) -> dict[Key, ByParameter]:
        """What a module passes to functions of another one that it calls by some names."""
        self._returns.clear()
        names = {*names, *(name for name, binding in imports_in(module.outline) if binding.name in names)}
        try:
            chosen = self.triggers.holding(_rows_naming(names, module.source), module)
        except Unreadable:
            return {}
        if not chosen:
            return {}
        self.start(module, chosen)
        self.calls.watched = frozenset(symbol.key for symbol in functions)
        self.call_sites.start(self.calls.watched)
        is_eventful = self.calls.deferral.is_eventful
        self.calls.deferral.start(lambda name: name in names or is_eventful(name))
        env = Environment(module, "")
        for unit, rows in chosen:
            self.read_unit(module, unit, rows, env)
        self.unread.clear()
        if self._steps < _MOST_STEPS:
            callers = self.call_sites.uninformed()
            self._ask([module.outline.functions[name] for name in callers if name in module.outline.functions], module)
        return {symbol.key: self.call_sites.passed_to(symbol) for symbol in functions}

    def passing(self, module: Module) -> Passing:
        """The classes of what a module passes to transformed functions, and those whose leaves it replaces."""
        chosen = self.triggers.passing(module)
        if not chosen:
            return Passing({}, frozenset(), frozenset())
        self._returns.clear()
        self._events(module, chosen)
        self.unread.clear()
        return Passing(self.traced.noted, self.traced.replaced, self.traced.emptied)

    def _applied(self, function: Function) -> tuple[Applied, ...]:
        """What is applied to a function of the module being read."""
        return () if self._reading is None else self.calls.transformed.of(function, self._reading)

    # -- return values ----------------------------------------------------------------------

    def return_of(self, symbol: FunctionSymbol, receiver: Value | None, passed: dict[str, Value]) -> Value:
        """What a function returns, read from its body, for what is `passed` for parameters without annotation.

        If that makes something happen in the module being read, it is noted.
        """
        declaration = symbol.declaration
        known = plain(receiver) if receiver is not None else None
        tells = bool(passed) or holds_given(known)
        if not (declaration.return_values or declaration.is_generator or tells):
            return Scalar("NoneType") if declaration.statements else UNKNOWN
        noting = tells and self.calls.notes.events is not None and symbol.module is self._reading
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

    def body_of(self, symbol: FunctionSymbol) -> Body | None:
        """The statements of a function, or None if they cannot be read, or are not to be seen from another module.

        A lambda, which no outline declares, has what it returns as its only statement.
        """
        if symbol.declaration.name == "<lambda>":
            return tuple(Return(value.at, value) for value in symbol.declaration.return_values)
        if self.checked not in (None, symbol.module) and not self._shows_body(symbol):
            return None
        found = self._definition(symbol)
        return None if found is None else found[1].body

    def top_level(self, module: Module) -> Body:
        """The statements of a module that stand in no function and no class."""
        bodies = [self.statements(module, unit) for unit in module.outline.units if unit.kind == "code"]
        return tuple([statement for body in bodies for statement in body or ()])

    def _shows_body(self, symbol: FunctionSymbol) -> bool:
        """Whether other modules look into a function."""
        if symbol.key not in self._shown:
            self._shown[symbol.key] = shows_body(symbol.declaration, symbol.module.outline)
        return self._shown[symbol.key]

    def _definition(self, symbol: FunctionSymbol) -> tuple[Declarations, FunctionDefinition] | None:
        """The `def` statement of a function, in its unit."""
        if symbol.key not in self._definitions:
            if len(self._definitions) >= _DEFINITIONS_STORED:
                self._definitions.clear()
            self._definitions[symbol.key] = self._find_definition(symbol)
        return self._definitions[symbol.key]

    def _find_definition(self, symbol: FunctionSymbol) -> tuple[Declarations, FunctionDefinition] | None:
        module, declaration = symbol.module, symbol.declaration
        units = module.outline.units
        unit = units[bisect_right(units, declaration.at.row, key=lambda u: u.first) - 1]
        declarations = self._declarations(module, unit, declaration.at.row)
        node = None if declarations is None else declarations.statement_of(declaration)
        return None if declarations is None or node is None else (declarations, node)

    def _declarations(self, module: Module, unit: Unit, row: int) -> Declarations | None:
        """The declarations in what is read of a unit for the function in a row."""
        place = (module.path, unit.first)
        self._by_themselves[place] += 1
        is_whole = self._by_themselves[place] > _FEW_FUNCTIONS
        body = self.statements(module, unit, None if is_whole else Rows.around(row, unit))
        if body is None:
            return None
        if is_whole and place in self._whole and self._whole[place][0] is body:
            return self._whole[place][1]
        found = Declarations(self.triggers.declared(module, unit), body)
        if is_whole:
            self._whole = {place: (body, found)}
        return found

    def _read_return(
        self, symbol: FunctionSymbol, receiver: Value | None, passed: dict[str, Value], noting: bool
    ) -> Value:
        found = self._definition(symbol)
        if found is None:
            return UNKNOWN
        declarations, node = found
        module, declaration = symbol.module, symbol.declaration
        owner = receiver.cls if isinstance(receiver, (Instance, ClassObject)) else None
        place = Place(module, (declaration,), owner, self.model.subclasses, self._applied)
        if declaration.owner is not None and receiver is None:
            return UNKNOWN
        reader = UnitReader(self.evaluator, self.calls, module, declarations)
        events: list[Event] | None = None
        if noting:
            events = []
            made_by = constructor_of(receiver.cls) if holds_given(receiver) else None
            self._called.append((symbol, made_by, events))
        return reader.value_returned(node, declaration, receiver, place, passed, events)


def _constructors(read: Sequence[CodeRead]) -> list[Function]:
    """The constructors among the functions that were read."""
    functions = (code.function for code in read)
    return list({f.qualname: f for f in functions if f is not None and f.name == "__init__" and f.owner}.values())


def _text(unit: Unit, left_out: Sequence[Unit], source: Source) -> str:
    """The text of a unit in which some of its functions only pass."""
    lines = source.lines[unit.first - 1 : unit.last]
    for piece in left_out:
        start = piece.first - unit.first
        margin = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
        lines[start : piece.last - unit.first + 1] = [margin + "pass"] + [""] * (piece.last - piece.first)
    return "\n".join(lines) + "\n"


def _rows_naming(names: Collection[str], source: Source) -> set[int]:
    """The rows in which some names are written."""
    written = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")
    return {bisect_right(source.line_offsets, found.start()) for found in written.finditer(source.text)}


def join_statements(found: list[list[Event]]) -> None:
    """Make one body of the top-level statements of all units."""
    read = [e for events in found for e in events if isinstance(e, CodeRead) and e.function is None]
    if len(read) > 1:
        joined = set(map(id, read))
        for events in found:
            events[:] = [e for e in events if id(e) not in joined]
        body = tuple(statement for one in read for statement in one.body)
        found[-1].append(replace(read[0], body=body, events=tuple(e for one in read for e in one.events)))
