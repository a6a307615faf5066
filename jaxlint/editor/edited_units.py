"""The units of an edited module, and which of them an edit concerns.

What is known of a unit depends on its own text, and on what its words stand for: a unit *reaches* the units that bind
one of its words as a name of the module, and all that these reach. An edit that leaves the names of the module, its
imports and the shape of its units as they are concerns the units that reach one that shows something else now
(`jaxlint.symbols.interface`). Where an edit is none of these, or where what it changes may be seen in another way, all
units are concerned; rules ask by other ways than by names only for what `_is_local` and `difference` compare.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import msgspec

from jaxlint.infer.renamed import renamed_updates
from jaxlint.project.index import Key, ProjectIndex
from jaxlint.project.modules import Module
from jaxlint.symbols.edited_outline import Mark, alike
from jaxlint.symbols.interface import by_unit, hides_functions, transforms_functions, unit_digests
from jaxlint.symbols.outline import MUTATING, UPDATING, Applying, Class, Function, Outline, Unit
from jaxlint.syntax.source import Source, Unreadable

K = TypeVar("K")

#: No rule and no class asks which units make calls of these names.
_ORDINARY = UPDATING | MUTATING | frozenset("abs enumerate field float int len max min print range str sum zip".split())


class Units:
    """The units of a module at one time."""

    def __init__(self, module: Module, marks: tuple[Mark, ...]) -> None:
        self.outline: Outline = module.outline
        self.source: Source = module.source
        self.path = module.path
        self.interface = module.interface
        self.marks = marks
        self.index = {mark: index for index, mark in enumerate(marks)}
        self._rows = [unit.first for unit in self.outline.units]

    @classmethod
    def of(cls, module: Module) -> Units | None:
        """The units of an edited module; None if not all is known of it."""
        marks = module.unit_marks
        try:
            return None if marks is None else cls(module, marks)
        except Unreadable:
            return None

    def __len__(self) -> int:
        return len(self.marks)

    def __getitem__(self, index: int) -> Unit:
        return self.outline.units[index]

    @cached_property
    def shown(self) -> list[tuple[bytes, bytes]]:
        """What each unit shows of itself: typing a statement changes the interface, and mostly not that."""
        return unit_digests(self.outline, self.source.lines, self.marks, counts_all=False)

    @cached_property
    def classes(self) -> list[list[Class]]:
        """The classes that each unit declares."""
        return by_unit(self.outline, self.outline.classes.values(), lambda cls: cls.at)

    @cached_property
    def functions(self) -> list[list[Function]]:
        """The functions that each unit declares."""
        return by_unit(self.outline, self.outline.functions.values(), lambda function: function.at)

    @cached_property
    def applying(self) -> list[list[Applying]]:
        """The calls of each unit that may apply transformations."""
        return by_unit(self.outline, self.outline.applying, lambda applying: applying.call.at)

    def renamed(self, index: int) -> frozenset[str]:
        """The names inside of a unit that stand for functions which update or write."""
        scopes = [self.outline.scopes[key] for key in self.marks[index].keys if key in self.outline.scopes]
        return renamed_updates(scopes)

    def at(self, row: int, end_row: int) -> int | None:
        """The index of the unit that holds some rows, if one holds all of them."""
        index = bisect_right(self._rows, row) - 1
        return index if index >= 0 and end_row <= self[index].last else None

    def declaring(self, key: Key) -> int | None:
        """The index of the unit that declares a class or a function of the module."""
        path, name = key
        declared = self.outline.classes.get(name) or self.outline.functions.get(name)
        return None if path != self.path or declared is None else self.at(declared.at.row, declared.at.row)

    def lines(self, index: int) -> list[str]:
        """The text of a unit."""
        return self.source.lines[self[index].first - 1 : self[index].last]

    def start(self, index: int) -> int:
        """Where the text of a unit starts."""
        return self.source.offset(self[index].first, 0)

    def edited_functions(self, index: int, others: Sequence[str]) -> set[Key]:
        """The functions of a unit in which it differs from a unit with these lines."""
        lines, unit = self.lines(index), self[index]
        above, below = alike(lines, others)
        first, last = unit.first + above - 1, unit.last - below + 1
        return {
            (self.path, function.qualname)
            for function in self.functions[index]
            if function.at.row <= last and (function.body_rows[1] or unit.last) >= first
        }


class Difference(msgspec.Struct):
    """What is known of a project now and was not, or the other way round."""

    #: Names that mean something else where they stand in the text, and methods whose discarded results do.
    names: set[str] = msgspec.field(default_factory=set)
    discarded: set[str] = msgspec.field(default_factory=set)
    #: Classes of which something else is known.
    classes: set[Key] = msgspec.field(default_factory=set)


def difference(before: ProjectIndex, after: ProjectIndex) -> Difference | None:
    """How two states of the index differ; None if that may concern everything."""
    if before is after:
        return Difference()
    if before.cycles or after.cycles or any(getattr(before, n) != getattr(after, n) for n in _FAR_REACHING):
        return None
    updates = (
        *differing(before.visible_updates.fields, after.visible_updates.fields),
        *differing(before.visible_updates.others, after.visible_updates.others),
    )
    return Difference(
        {name for n in _NAMES for name in getattr(before, n) ^ getattr(after, n)},
        {method for _, method in updates},
        {*differing(before.traced, after.traced), *differing(before.subclasses, after.subclasses)},
    )


_NAMES = tuple(n for n in ProjectIndex.__struct_fields__ if n.endswith("_names") or n == "names_with_static_arguments")
_FAR_REACHING = ("imports", "indexed", "seeing", "applying", "method_calls")
assert {*_NAMES, *_FAR_REACHING, "cycles", "visible_updates", "traced", "subclasses"} == {
    *ProjectIndex.__struct_fields__
}


def differing(some: Mapping[K, object], others: Mapping[K, object]) -> set[K]:
    """The keys of which two mappings tell something else."""
    return {key for key in some.keys() | others.keys() if some.get(key) != others.get(key)}


class Edit:
    """The step from the units of a module at one time to those at another."""

    def __init__(self, before: Units, after: Units, changed: list[tuple[int, int]]) -> None:
        self.before = before
        self.after = after
        #: The units that are others, each with what it is now.
        self.changed = changed
        #: Those of them, as they are now, that show something else of themselves.
        self.showing = set[int]()
        if before.interface != after.interface:
            self.showing = {new for old, new in changed if before.shown[old] != after.shown[new]}

    @classmethod
    def between(cls, before: Units, after: Units) -> Edit | None:
        """The edit; None if it may concern all units."""
        old = [index for index, mark in enumerate(before.marks) if mark not in after.index]
        new = [index for index, mark in enumerate(after.marks) if mark not in before.index]
        changed = list(zip(old, new, strict=False))
        if len(old) != len(new) or _surroundings(before) != _surroundings(after):
            return None
        return cls(before, after, changed) if all(_is_local(before, o, after, n) for o, n in changed) else None

    def concerned(self, indexes: Sequence[ProjectIndex], unlike: Difference) -> set[int] | None:
        """The units, as they are now, that may say something else, because of what units show or of what is known.

        None if that may be all. `indexes` are those of before and after, as far as it is there.
        """
        families = [family for one in indexes for family in one.subclasses.items()]
        found: set[int] = set()
        pending: list[int | None] = [*self.showing, *self._meaning_otherwise(unlike)]
        if pending and any(_imports_itself(self.after.path, one) for one in indexes):
            return None
        while pending:
            index = pending.pop()
            if index is None or _acts(self.after[index]):
                return None
            if index not in found:
                found.add(index)
                pending += [user for name in self.after.marks[index].names for user in self._users.get(name, ())]
                pending += self._relatives(index, families)
        return found

    def _meaning_otherwise(self, unlike: Difference) -> Iterator[int | None]:
        """The units that speak of what is not as it was; None for what other modules declare."""
        for index, mark in enumerate(self.after.marks):
            if not (mark.words.isdisjoint(unlike.names) and self.after[index].discards.isdisjoint(unlike.discarded)):
                yield index
        yield from map(self.after.declaring, unlike.classes)

    def _relatives(self, index: int, families: Sequence[tuple[Key, Sequence[Key]]]) -> Iterator[int | None]:
        """The units with classes of which some heir is one of a unit's classes, or inherits from one."""
        own = {(self.after.path, name) for name in self.after[index].classes}
        own |= {heir for ancestor, heirs in families if ancestor in own for heir in heirs}
        for ancestor, heirs in families:
            if not own.isdisjoint(heirs):
                yield self.after.declaring(ancestor)

    @cached_property
    def _users(self) -> dict[str, list[int]]:
        """The units that may name a name of the module, before or now."""
        names = frozenset[str]().union(*[mark.names for mark in self.after.marks])
        found: dict[str, list[int]] = {}
        for index, mark in self._texts():
            for name in names & mark.words:
                found.setdefault(name, []).append(index)
        return found

    def _texts(self) -> Iterator[tuple[int, Mark]]:
        yield from enumerate(self.after.marks)
        for old, new in self.changed:
            yield new, self.before.marks[old]


def _imports_itself(path: str, project_index: ProjectIndex) -> bool:
    """Whether a module that a module imports knows of it."""
    graph = project_index.imports
    return path in graph.importing(graph.importers.get(path, ()))


def _acts(unit: Unit) -> bool:
    """Whether a unit may do something to what others declare."""
    return unit.kind != "definition" and (bool(unit.calls) or unit.stores)


def _surroundings(units: Units) -> tuple[object, ...]:
    """What the module is as a whole, besides its units."""
    outline = units.outline
    return (
        outline.imported_modules,
        outline.all_names,
        outline.future_annotations,
        outline.attributes_set,
        outline.module_scope.is_global,
        hides_functions(outline),
        transforms_functions(outline),
    )


def _is_local(before: Units, old: int, after: Units, new: int) -> bool:
    """Whether a unit is seen by others only by its names, and binds the same ones."""
    one, other, marks = before[old], after[new], (before.marks[old], after.marks[new])
    return (
        one.kind == other.kind == "definition"
        and one.references == other.references
        and (one.calls ^ other.calls) <= _ORDINARY
        and one.classes == other.classes
        and marks[0].names == marks[1].names
        and marks[0].keys == marks[1].keys
        and not any("global" in mark.words for mark in marks)
        and before.renamed(old) == after.renamed(new)
        and _signatures(before.functions[old]) == _signatures(after.functions[new])
    )


def _signatures(functions: Iterable[Function]) -> list[tuple[object, ...]]:
    """What units ask of the functions of others without naming them."""
    return [(f.qualname, f.owner, [(p.name, p.kind, p.annotation is None) for p in f.parameters]) for f in functions]
