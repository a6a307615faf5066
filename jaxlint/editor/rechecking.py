"""Checking a module again after an edit: what was found in units that the edit does not concern still holds.

Which units it concerns by what is declared, `jaxlint.editor.edited_units` says. Apart from that, an edit changes
nothing but comments, the place of what follows, and what happens inside of functions that say what they return. The
other units of the module see no more of these, except what is recorded while units are read: whose bodies are asked
for, what functions are called with, and what goes into which transformation. Where any of that may be another thing
than before, all units are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from jaxlint.editor.edited_units import Edit as UnitsEdit
from jaxlint.editor.edited_units import Units, difference, differing
from jaxlint.finding import Edit, Finding
from jaxlint.infer.environment import Environment
from jaxlint.infer.events import CodeRead, Event
from jaxlint.infer.reader import join_statements
from jaxlint.infer.transformed import Notes
from jaxlint.infer.triggers import Held, has_bare_parameters
from jaxlint.linter.checker import Checker
from jaxlint.project.index import Key, ProjectIndex, TracedBy
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol


class _Effects(msgspec.Struct, frozen=True):
    """What reading a unit tells others."""

    #: The functions of the module that it passes something to of which their annotations do not tell.
    passed_to: frozenset[Key] = frozenset()
    #: The classes that it passes to transformed functions, and the functions that it transforms.
    traced: dict[Key, TracedBy] = msgspec.field(default_factory=dict)
    applied: Notes = msgspec.field(default_factory=dict)


class _Found(msgspec.Struct):
    """What was found in a unit: in its classes, in what happens in it, and in its functions when they are called."""

    in_classes: list[Finding] = msgspec.field(default_factory=list)
    in_events: list[Finding] = msgspec.field(default_factory=list)
    when_called: list[Finding] = msgspec.field(default_factory=list)
    effects: _Effects = msgspec.field(default_factory=_Effects)
    #: The rows, from that of the unit, of the functions that were worth reading; None if nothing was.
    read: frozenset[int] | None = None
    #: Which of its pieces hold a trigger.
    held: Held | None = None


class _Record(msgspec.Struct, frozen=True):
    """What was found in each of the units of a module, with what was known of the project.

    `opened` are the functions whose bodies were asked for.
    """

    units: Units
    found: list[_Found]
    opened: frozenset[Key]
    project_index: ProjectIndex


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
        units = Units.of(module) if checker.looks_into(module) else None
        if units is None:
            return checker.find_all(module)
        reading = None if record is None else _tried(checker, lambda: _again(checker, module, units, record))
        reading = reading or _tried(checker, lambda: _whole(checker, module, units))
        if reading is None:
            return checker.find_all(module)
        self.looked_at = reading.looked_at
        opened = frozenset(checker.reader.opened) | (record.opened if record is not None else frozenset())
        self._records[module.path] = _Record(units, reading.found, opened, checker.project_index)
        return [finding for part in _PARTS for found in reading.found for finding in getattr(found, part)]


_PARTS = ("in_classes", "in_events", "when_called")


class _Reading:
    """One check of a module; `found` is what is known already, for each unit."""

    def __init__(self, checker: Checker, module: Module, units: Units, found: list[_Found]) -> None:
        self.checker = checker
        self.module = module
        self.units = units
        self.found = found
        rows = [unit.first for unit in units.outline.units]
        held = {row: one.held for row, one in zip(rows, found, strict=True) if one.held is not None}
        triggers = checker.reader.triggers
        chosen = {unit.first: (unit, rows) for unit, rows in triggers.worth_reading(module, held)}
        self._held = [triggers.held.get(row) for row in rows]
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
        reader.begin(module)
        self.looked_at = len(again)
        for index in again:
            self.found[index] = _Found(held=self._held[index])
            if checker.class_rules:
                classes = [checker.model.build(ClassSymbol(module, cls)) for cls in self.units.classes[index]]
                self.found[index].in_classes += checker.find_in_classes(module, classes)
        transformed, traced = reader.calls.transformed, reader.traced
        reader.start(module, [chosen for chosen in self.chosen if chosen is not None])
        env = Environment(module, "")
        read: list[tuple[_Found, list[Event]]] = []
        crossed: dict[Key, TracedBy] = {}
        applied: Notes = {}
        for index, (found, chosen) in enumerate(zip(self.found, self.chosen, strict=True)):
            reader.step()
            if index in again and chosen is not None:
                reader.passed_to = set()
                transformed.start()
                traced.start()
                events = reader.read_unit(module, *chosen, env)
                found.effects = _Effects(frozenset(reader.passed_to), traced.noted, transformed.noted)
                found.read = self.rows_read(index)
                if any(qualname.startswith(".<lambda") for _, qualname in transformed.noted):
                    self.is_separable = False  # a lambda that several units call
                if events:
                    read.append((found, events))
            crossed = found.effects.traced | crossed
            for key, notes in found.effects.applied.items():
                applied[key] = applied.get(key, {}) | notes
        traced.start(crossed)
        transformed.start(applied)
        join_statements([events for _, events in read])
        when_called = reader.called()  # rules may ask for values, and so have more calls read
        for found, events in read:
            for event in events:
                problems = list(checker.find_in_events(module, [event]))
                found.in_events += problems
                if isinstance(event, CodeRead) and event.function is None and (problems or event.events):
                    self.is_separable = False
        for symbol, events in when_called:
            called = self.units.declaring(symbol.key)
            if called is None or called not in again:
                self.is_separable = False
            else:
                self.found[called].when_called += checker.find_in_events(module, events)


def _tried(checker: Checker, read: Callable[[], _Reading | None]) -> _Reading | None:
    """A check of units by themselves; None where they are not to be distinguished, or where something fails.

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


def _whole(checker: Checker, module: Module, units: Units) -> _Reading | None:
    """The check of all units, one by one."""
    reading = _Reading(checker, module, units, [_Found() for _ in units.marks])
    if reading.is_separable:
        reading.read(set(range(len(units))))
    return reading


def _again(checker: Checker, module: Module, units: Units, record: _Record) -> _Reading | None:
    """The check of the units that an edit concerns; None if that may be all of them."""
    before = record.units
    edit, unlike = UnitsEdit.between(before, units), difference(record.project_index, checker.project_index)
    concerned = edit.concerned([record.project_index, checker.project_index], unlike) if edit and unlike else None
    if edit is None or concerned is None:
        return None
    edited = {key for old, new in edit.changed for key in before.edited_functions(old, units.lines(new))}
    if not edited.isdisjoint(record.opened):
        return None
    changed = {old for old, _ in edit.changed}
    new_of = {old: units.index.get(mark) for old, mark in enumerate(before.marks)} | dict(edit.changed)
    stale = _entangled({old for old, new in new_of.items() if old in changed or new in concerned}, record)
    if stale is None:
        return None
    stored = _stored(record, units, new_of, stale, changed)
    if stored is None:
        return None
    again = {new for old in stale if (new := new_of[old]) is not None}
    reading = _Reading(checker, module, units, stored)
    for old, index in new_of.items():
        if index is None:
            return None
        rows, known = reading.rows_read(index), record.found[old].read
        is_eventful = (rows is None) != (known is None) and any(map(has_bare_parameters, units.functions[index]))
        if is_eventful if index in again else rows != known:
            return None
    if not reading.is_separable:
        return None
    reading.read(again)
    own = {units.declaring(key) for i in again for key in reading.found[i].effects.passed_to}
    if not own <= again:
        return None
    said = [_effects_of(found, units, again) for found in (record.found, reading.found)]
    applied = [{key: list(notes) for key, notes in one.applied.items()} for one in said]
    if applied[0] != applied[1]:
        return None
    if not differing(*[one.traced for one in said]) <= checker.reader.evaluator.traced.declared.keys():
        return None
    is_moved = any(new is not None and units[new].first != before[old].first for old, new in new_of.items())
    if is_moved and _is_told_of(again, reading.found, units):
        return None
    return reading


def _entangled(changed: set[int], record: _Record) -> set[int] | None:
    """The units of which some call functions of the others, and tell more of these so."""
    edges: list[tuple[int, int]] = []
    for index, found in enumerate(record.found):
        for key in found.effects.passed_to:
            called = record.units.declaring(key)
            if called is None:
                return None
            edges.append((index, called))
    reached = set(changed)
    while True:
        more = {index for edge in edges if not reached.isdisjoint(edge) for index in edge} - reached
        if not more:
            return reached
        reached |= more


def _stored(
    record: _Record, units: Units, new_of: dict[int, int | None], stale: set[int], changed: set[int]
) -> list[_Found] | None:
    """What is known of each unit, at its place now; None if some of it is placed where the edit was made."""
    before = record.units
    stored = [_Found() for _ in units.marks]

    def moved(finding: Finding) -> Finding | None:
        old = before.at(finding.row, finding.end_row)
        new = None if old is None or old in changed else new_of[old]
        if old is None or new is None:
            return None
        rows, fix = units[new].first - before[old].first, finding.fix
        if fix is not None:
            start = before.start(old)
            end = before.start(old + 1) if old + 1 < len(before) else len(before.source.text)
            if any(not start <= edit.start <= edit.end <= end for edit in fix.edits):
                return None
            by = units.start(new) - start
            fix = replace(fix, edits=tuple([Edit(edit.start + by, edit.end + by, edit.text) for edit in fix.edits]))
        elif not rows:
            return finding
        return replace(finding, row=finding.row + rows, end_row=finding.end_row + rows, fix=fix)

    for old, found in enumerate(record.found):
        new = new_of[old]
        if old in stale:
            continue
        if new is None:
            return None
        parts: dict[str, list[Finding]] = {}
        for name in [name for name in _PARTS if getattr(found, name)]:
            places = [moved(finding) for finding in getattr(found, name)]
            parts[name] = [finding for finding in places if finding is not None]
            if len(parts[name]) < len(places):
                return None
        stored[new] = replace(found, **parts) if parts else found
    return stored


def _effects_of(found: Iterable[_Found], units: Units, again: set[int]) -> _Effects:
    """What all units tell, of functions those that are not read again, wherever they are transformed."""
    traced: dict[Key, TracedBy] = {}
    applied: Notes = {}
    for one in found:
        traced = one.effects.traced | traced
        for key, notes in one.effects.applied.items():
            if units.declaring(key) not in again and "<lambda" not in key[1]:
                applied[key] = applied.get(key, {}) | {replace(note, at=None): None for note in notes}
    return _Effects(frozenset(), traced, applied)


def _is_told_of(again: set[int], found: list[_Found], units: Units) -> bool:
    """Whether units that are not read transform functions that are, at a place that is another one now."""
    others = [one.effects for index, one in enumerate(found) if index not in again]
    return any(units.declaring(key) in again for effects in others for key in effects.applied)
