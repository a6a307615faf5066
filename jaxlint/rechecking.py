"""Checking a module again after an edit: what was found in units that the edit does not concern is kept.

An edit that other modules do not see (`jaxlint.interface`) changes nothing but comments, the place of what follows, and
what happens inside of functions that say what they return. The other units of the module see no more of these either,
except what is recorded while units are read: whose bodies are asked for, what functions are called with, and what goes
into which transformation. Where any of that may be another thing than before, all units are read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import msgspec
from msgspec.structs import replace

from jaxlint.checker import Checker
from jaxlint.finding import Edit, Finding
from jaxlint.infer.environment import Environment
from jaxlint.infer.events import CodeRead, Event
from jaxlint.infer.reader import join_statements
from jaxlint.infer.transformed import Notes
from jaxlint.interface import interface_digest
from jaxlint.knowledge import Crossing, Key
from jaxlint.outline import MUTATING, UPDATING, Outline, Unit
from jaxlint.project import Module
from jaxlint.source import Source, Unreadable

#: No rule and no class asks which units make calls of these names.
_ORDINARY = UPDATING | MUTATING | frozenset("abs enumerate float int len max min print range str sum zip".split())


class _Effects(msgspec.Struct, frozen=True):
    """What reading a unit tells others."""

    #: The functions of the module that it passes something to of which their annotations do not tell.
    passed_to: frozenset[Key] = frozenset()
    #: The classes that it passes to transformed functions, and the functions that it transforms.
    crossings: dict[Key, Crossing] = msgspec.field(default_factory=dict)
    applied: Notes = msgspec.field(default_factory=dict)


class _Found(msgspec.Struct):
    """What was found in a unit: in its classes, in what happens in it, and in its functions when they are called."""

    in_classes: list[Finding] = msgspec.field(default_factory=list)
    in_events: list[Finding] = msgspec.field(default_factory=list)
    when_called: list[Finding] = msgspec.field(default_factory=list)
    effects: _Effects = msgspec.field(default_factory=_Effects)
    #: The rows, from that of the unit, of the functions that were worth reading; None if nothing was.
    read: frozenset[int] | None = None


class _Units:
    """The units of a module at one time."""

    def __init__(self, module: Module, marks: tuple[object, ...], interface: bytes) -> None:
        self.outline: Outline = module.outline
        self.source: Source = module.source
        self.path = module.path
        self.interface = interface
        self.marks = marks
        self.index = {mark: index for index, mark in enumerate(marks)}
        self._rows = [unit.first for unit in self.outline.units]

    @cached_property
    def shown(self) -> bytes:
        """What the module shows of itself: typing a statement changes its interface, and mostly not that."""
        return interface_digest(self.outline, self.source.text, counts_all=False)

    def __len__(self) -> int:
        return len(self.marks)

    def __getitem__(self, index: int) -> Unit:
        return self.outline.units[index]

    def at(self, row: int, end_row: int) -> int | None:
        """The index of the unit that holds some rows, if one holds all of them."""
        index = bisect_right(self._rows, row) - 1
        return index if index >= 0 and end_row <= self[index].last else None

    def of_function(self, key: Key) -> int | None:
        """The index of the unit that holds a function of the module."""
        function = self.outline.functions.get(key[1]) if key[0] == self.path else None
        return None if function is None else self.at(function.at.row, function.at.row)

    def lines(self, index: int) -> list[str]:
        """The text of a unit."""
        return self.source.lines[self[index].first - 1 : self[index].last]

    def start(self, index: int) -> int:
        """Where the text of a unit starts."""
        return self.source.offset(self[index].first, 0)

    def edited_functions(self, index: int, others: Sequence[str]) -> set[Key]:
        """The functions of a unit in which it differs from a unit with these lines."""
        lines, unit = self.lines(index), self[index]
        above = _alike(lines, others)
        below = _alike(lines[above:][::-1], others[above:][::-1])
        first, last = unit.first + above - 1, unit.last - below + 1
        return {
            (self.path, function.qualname)
            for function in self.outline.functions.values()
            if unit.first <= function.at.row <= last and (function.body_rows[1] or unit.last) >= first
        }


class _Record(msgspec.Struct, frozen=True):
    """What was found in each of the units of a module; `opened` are the functions whose bodies were asked for."""

    units: _Units
    found: list[_Found]
    opened: frozenset[Key]


class Rechecks:
    """What was found in the edited modules of a project, while all others show the same of themselves."""

    def __init__(self) -> None:
        self._records: dict[str, _Record] = {}
        #: How many units of a module were read, or looked at for their classes, when it was checked last.
        self.looked_at = 0

    def forget_all_but(self, changed: set[str]) -> None:
        """The modules with these paths show something else of themselves now.

        What a module shows of itself may be what it was again after the next edit.
        """
        self._records = {path: record for path, record in self._records.items() if changed == {path}}

    def find(self, checker: Checker, module: Module) -> Iterable[Finding]:
        """What the rules of a checker find in a module, in no order, whatever hides it."""
        record = self._records.get(module.path)  # it holds on if this check is stopped
        units = _units_of(module) if checker.looks_into(module) else None
        if units is None:
            return checker.find_all(module)
        reading = None if record is None else _tried(checker, lambda: _again(checker, module, units, record))
        reading = reading or _tried(checker, lambda: _whole(checker, module, units))
        if reading is None:
            return checker.find_all(module)
        self.looked_at = reading.looked_at
        opened = frozenset(checker.reader.opened) | (record.opened if record is not None else frozenset())
        self._records[module.path] = _Record(units, reading.found, opened)
        return [finding for part in _PARTS for found in reading.found for finding in getattr(found, part)]


_PARTS = ("in_classes", "in_events", "when_called")


class _Reading:
    """One check of a module; `found` is what is known already, for each unit."""

    def __init__(self, checker: Checker, module: Module, units: _Units, found: list[_Found]) -> None:
        self.checker = checker
        self.module = module
        self.units = units
        self.found = found
        chosen = {unit.first: (unit, rows) for unit, rows in checker.reader.triggers.worth_reading(module)}
        #: What of each unit is worth reading.
        self.chosen = [chosen.get(unit.first) for unit in units.outline.units]
        #: Whether nothing was found that several units tell together, as the statements of a script do.
        self.is_separable = all(one is None or one[0].kind == "definition" for one in self.chosen)
        self.looked_at = 0

    def rows_read(self, index: int) -> frozenset[int] | None:
        """The functions of a unit that are worth reading, by their rows from that of the unit; None if it is not."""
        chosen = self.chosen[index]
        return None if chosen is None else frozenset(row - chosen[0].first for row in chosen[1].places)

    def read(self, again: set[int]) -> None:
        """Find what there is in some of the units; all others are known."""
        checker, module, reader = self.checker, self.module, self.checker.reader
        self.looked_at = len(again)
        for index in again:
            self.found[index] = _Found()
        for cls in checker.model.classes_in(module) if checker.class_rules else ():
            row = cls.symbol.declaration.at.row
            index_of_class = self.units.at(row, row)
            if index_of_class in again:
                assert index_of_class is not None
                self.found[index_of_class].in_classes += checker.find_in_classes(module, [cls])
        transformed, crossings = reader.calls.transformed, reader.evaluator.crossings
        reader.start(module, [chosen for chosen in self.chosen if chosen is not None])
        env = Environment(module, "")
        read: list[tuple[_Found, list[Event]]] = []
        crossed: dict[Key, Crossing] = {}
        applied: Notes = {}
        for index, (found, chosen) in enumerate(zip(self.found, self.chosen, strict=True)):
            reader.step()
            if index in again and chosen is not None:
                reader.passed_to = set()
                transformed.start()
                crossings.start()
                events = reader.read_unit(module, *chosen, env)
                found.effects = _Effects(frozenset(reader.passed_to), crossings.noted, transformed.noted)
                found.read = self.rows_read(index)
                if any(qualname.startswith(".<lambda") for _, qualname in transformed.noted):
                    self.is_separable = False  # a lambda that several units call
                if events:
                    read.append((found, events))
            crossed = found.effects.crossings | crossed
            for key, notes in found.effects.applied.items():
                applied[key] = applied.get(key, {}) | notes
        crossings.start(crossed)
        transformed.start(applied)
        join_statements([events for _, events in read])
        for found, events in read:
            for event in events:
                problems = list(checker.find_in_events(module, [event]))
                found.in_events += problems
                if isinstance(event, CodeRead) and event.function is None and (problems or event.events):
                    self.is_separable = False
        for symbol, events in reader.called():
            called = self.units.of_function(symbol.key)
            if called is None:
                self.is_separable = False
            else:
                self.found[called].when_called += checker.find_in_events(module, events)


def _units_of(module: Module) -> _Units | None:
    """The units of an edited module; None if not all is known of it."""
    marks = module.unit_marks
    try:
        return None if marks is None else _Units(module, marks, module.interface)
    except Unreadable:
        return None


def _tried(checker: Checker, read: Callable[[], _Reading | None]) -> _Reading | None:
    """A check of units by themselves; None where they are not to be told apart, or where something fails.

    The check of the module as a whole tells then what there is to tell.
    """
    failures = len(checker.errors)
    try:
        reading = read()
    except Exception:
        reading = None
    if len(checker.errors) > failures or checker.reader.unread or (reading is not None and not reading.is_separable):
        reading = None
    del checker.errors[failures:]
    checker.reader.unread.clear()
    return reading


def _whole(checker: Checker, module: Module, units: _Units) -> _Reading | None:
    """The check of all units, one by one."""
    reading = _Reading(checker, module, units, [_Found() for _ in units.marks])
    if reading.is_separable:
        reading.read(set(range(len(units))))
    return reading


def _again(checker: Checker, module: Module, units: _Units, record: _Record) -> _Reading | None:
    """The check of the units that an edit concerns; None if that may be all of them."""
    before = record.units
    changed = _changed(before, units)
    if changed is None or (before.interface != units.interface and before.shown != units.shown):
        return None
    if any(_tells_more(before[old], units[new]) for old, new in changed):
        return None
    edited = {key for old, new in changed for key in before.edited_functions(old, units.lines(new))}
    if not edited.isdisjoint(record.opened):
        return None
    new_of = {old: units.index.get(mark) for old, mark in enumerate(before.marks)} | dict(changed)
    stale = _entangled({old for old, _ in changed}, record)
    if stale is None:
        return None
    kept = _kept(record, units, new_of, stale, {old for old, _ in changed})
    if kept is None:
        return None
    again = {new for old in stale if (new := new_of[old]) is not None}
    reading = _Reading(checker, module, units, kept)
    if any(reading.rows_read(index) != found.read for index, found in enumerate(kept) if index not in again):
        return None
    if not reading.is_separable:
        return None
    reading.read(again)
    own = {units.of_function(key) for i in again for key in reading.found[i].effects.passed_to}
    if not own <= again:
        return None
    told = [_told(found, units, again) for found in (record.found, reading.found)]
    applied = [{key: list(notes) for key, notes in one.applied.items()} for one in told]
    if applied[0] != applied[1]:
        return None
    if not _differing(*[one.crossings for one in told]) <= checker.reader.evaluator.crossings.declared.keys():
        return None
    is_moved = any(new is not None and units[new].first != before[old].first for old, new in new_of.items())
    if is_moved and _is_told_of(again, reading.found, units):
        return None
    return reading


def _changed(before: _Units, after: _Units) -> list[tuple[int, int]] | None:
    """The units that are others, each with what it is now; None if that cannot be told."""
    old = [index for index, mark in enumerate(before.marks) if mark not in after.index]
    new = [index for index, mark in enumerate(after.marks) if mark not in before.index]
    pairs = list(zip(old, new, strict=False))
    if len(old) != len(new) or any(before[o].kind != "definition" or after[n].kind != "definition" for o, n in pairs):
        return None
    return pairs


def _tells_more(before: Unit, after: Unit) -> bool:
    """Whether something else can be said of a unit than before, without reading it, that others ask for."""
    return before.references != after.references or not (before.calls ^ after.calls) <= _ORDINARY


def _entangled(changed: set[int], record: _Record) -> set[int] | None:
    """The units of which some call functions of the others, and tell more of these so."""
    edges: list[tuple[int, int]] = []
    for index, found in enumerate(record.found):
        for key in found.effects.passed_to:
            called = record.units.of_function(key)
            if called is None:
                return None
            edges.append((index, called))
    reached = set(changed)
    while True:
        more = {index for edge in edges if not reached.isdisjoint(edge) for index in edge} - reached
        if not more:
            return reached
        reached |= more


def _kept(
    record: _Record, units: _Units, new_of: dict[int, int | None], stale: set[int], changed: set[int]
) -> list[_Found] | None:
    """What is known of each unit, at its place now; None if some of it is placed where the edit was made."""
    before = record.units
    kept = [_Found() for _ in units.marks]

    def moved(finding: Finding) -> Finding | None:
        old = before.at(finding.row, finding.end_row)
        new = None if old is None or old in changed else new_of[old]
        if old is None or new is None:
            return None
        rows, start, end = (
            units[new].first - before[old].first,
            before.start(old),
            before.start(old + 1) if old + 1 < len(before) else len(before.source.text),
        )
        by, fix = units.start(new) - start, finding.fix
        if fix is not None:
            if any(not start <= edit.start <= edit.end <= end for edit in fix.edits):
                return None
            edits = tuple([Edit(edit.start + by, edit.end + by, edit.text) for edit in fix.edits])
            fix = msgspec.structs.replace(fix, edits=edits)
        return msgspec.structs.replace(finding, row=finding.row + rows, end_row=finding.end_row + rows, fix=fix)

    for old, found in enumerate(record.found):
        new = new_of[old]
        if old in stale:
            continue
        if new is None:
            return None
        parts: dict[str, list[Finding]] = {}
        for name in _PARTS:
            places = [moved(finding) for finding in getattr(found, name)]
            parts[name] = [finding for finding in places if finding is not None]
            if len(parts[name]) < len(places):
                return None
        kept[new] = _Found(parts["in_classes"], parts["in_events"], parts["when_called"], found.effects, found.read)
    return kept


def _told(found: Iterable[_Found], units: _Units, again: set[int]) -> _Effects:
    """What all units tell, of functions those that are not read again, wherever they are transformed."""
    crossings: dict[Key, Crossing] = {}
    applied: Notes = {}
    for one in found:
        crossings = one.effects.crossings | crossings
        for key, notes in one.effects.applied.items():
            if units.of_function(key) not in again and "<lambda" not in key[1]:
                applied[key] = applied.get(key, {}) | {replace(note, at=None): None for note in notes}
    return _Effects(frozenset(), crossings, applied)


def _differing(some: dict[Key, Crossing], others: dict[Key, Crossing]) -> set[Key]:
    """The classes of which two mappings tell something else."""
    return {key for key in some.keys() | others.keys() if some.get(key) != others.get(key)}


def _is_told_of(again: set[int], found: list[_Found], units: _Units) -> bool:
    """Whether units that are not read transform functions that are, at a place that is another one now."""
    others = [one.effects for index, one in enumerate(found) if index not in again]
    return any(units.of_function(key) in again for effects in others for key in effects.applied)


def _alike(some: Sequence[str], others: Sequence[str]) -> int:
    """How many lines are the same at the start."""
    found = 0
    for one, other in zip(some, others, strict=False):
        if one != other:
            break
        found += 1
    return found
