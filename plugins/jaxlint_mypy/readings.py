"""What jaxlint's own reading knows of an event that mypy shows: it follows values, where a type is only declared."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec.structs import replace

from jaxlint.infer.choosing.rows import Rows
from jaxlint.infer.evaluating.events import (
    AssignAttribute,
    AssignItem,
    CodeRead,
    Construct,
    Event,
    KeywordValue,
    Replace,
)
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.values import UNKNOWN, Array, UnknownValue, Value, plain
from jaxlint.project.modules import Module
from jaxlint.symbols.outline import Function, Unit
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.statements import Body, ClassDefinition, FunctionDefinition, blocks

if TYPE_CHECKING:
    from jaxlint.infer.reading.reader import ModuleReader

#: The events that hold values.
_Valued = (AssignAttribute, AssignItem, Construct, Replace)
#: The type of such an event, and the row and column at which it begins.
_Key: TypeAlias = tuple[type[Event], int, int]


class _Read(msgspec.Struct, frozen=True):
    """What was read around a place: what happens there, and the bodies of functions."""

    events: dict[_Key, Event] = {}
    bodies: tuple[CodeRead, ...] = ()


class Readings:
    """Reads the functions in which rules have found something, each of them once."""

    def __init__(self, reader: ModuleReader) -> None:
        self.reader = reader
        self._known: dict[tuple[str, int], _Read] = {}

    def never_runs(self, module: Module, at: object) -> bool:
        """Whether a place stands in a branch that is never taken, by what the tests around it and before it say.

        mypy passes over what its types rule out, and knows nothing of a test for `key == "b"` inside of a branch for
        which `key` is "a". What is for type checkers alone (`if TYPE_CHECKING`) does not run, either.
        """
        place = place_of(at)[:2]
        return any(_is_passed_over(code.body, place, code.points) for code in self._around(module, place[0]).bodies)

    def transformed_body(self, module: Module, function: Function) -> CodeRead | None:
        """The body of a function that is transformed, as far as its module tells, with what happens in it."""
        transformed = self.reader.calls.transformed
        applied = transformed.of(function, module)
        bodies = self._around(module, function.at.row).bodies if applied else ()
        code = next((code for code in bodies if code.function is function), None)
        if code is None:
            return None
        return replace(code, place=replace(code.place, applied=lambda one: transformed.of(one, module)))

    def refined(self, event: Event) -> Event:
        """The event with what the reading knows better than the types; itself if the reading does not see it."""
        if not isinstance(event, _Valued) or not isinstance(event.at, tuple):
            return event
        row, column = event.at[:2]
        read = self._around(event.place.module, row).events.get((type(event), row, column))
        match event, read:
            case Construct(), Construct():
                return replace(event, arguments=_refined(event.arguments, read.arguments))
            case Replace(), Replace():
                keywords, returned = _refined(event.keywords, read.keywords), read.stays_until_returned
                return replace(event, keywords=keywords, stays=read.stays, stays_until_returned=returned)
            case AssignAttribute(), AssignAttribute():
                value = _better(event.value, read.value)
                return replace(event, value=value, mutable_copy=event.mutable_copy or read.mutable_copy)
            case AssignItem(), AssignItem():
                receiver, owner, holders = read.receiver, read.owner, read.holders
                return replace(event, receiver=receiver, owner=owner, holders=holders, made_here=read.made_here)
        return event

    def _around(self, module: Module, row: int) -> _Read:
        """What the function around a row holds, or the statements of the module."""
        units = module.outline.units
        if not units:  # its text is gone: it was piped into mypy
            return _Read()
        unit = units[bisect_right(units, row, key=lambda u: u.first) - 1]
        if unit.kind == "code":
            key, chosen = (module.path, 0), [(u, Rows.around(u.first, u)) for u in units if u.kind == "code"]
        else:
            rows = Rows.around(row, unit)
            key, chosen = (module.path, max(rows.places, default=unit.first)), [(unit, rows)]
        if key not in self._known:
            self._known[key] = self._read(module, chosen)
        return self._known[key]

    def _read(self, module: Module, chosen: list[tuple[Unit, Rows]]) -> _Read:
        reader = self.reader
        reader.start(module, chosen)
        reader.calls.deferral.start(lambda name: True)  # which calls are of interest was not indexed
        env = Environment(module, "")
        events = [event for unit, rows in chosen for event in reader.read_unit(module, unit, rows, env)]
        reader.begin(module)
        valued: dict[_Key, Event] = {(type(e), *place_of(e.at)[:2]): e for e in events if isinstance(e, _Valued)}
        return _Read(valued, tuple(event for event in events if isinstance(event, CodeRead)))


def _is_passed_over(body: Body, place: tuple[int, int], points: Mapping[int, object]) -> bool:
    """Whether one of the statements around a place was not come to (`points`), in a body that was read."""
    found = next((s for s in body if (at := place_of(s.at))[:2] <= place <= at[2:]), None)
    if found is None:
        return False
    if id(found) not in points:
        return True
    if isinstance(found, (FunctionDefinition, ClassDefinition)):
        return False  # functions are bodies of their own
    return any(_is_passed_over(block, place, points) for block in blocks(found))


def _refined(shown: tuple[KeywordValue, ...], read: tuple[KeywordValue, ...]) -> tuple[KeywordValue, ...]:
    values = {one.name: one.value for one in read}
    return tuple([replace(one, held=_better(one.value, values.get(one.name, UNKNOWN))) for one in shown])


def _better(shown: Value, read: Value) -> Value:
    """What is known of a value by its type and by reading: a type of numpy's may say "array" of a number."""
    if not isinstance(plain(read), UnknownValue):
        return read
    value = plain(shown)
    return UNKNOWN if isinstance(value, Array) and value.library == "numpy" else shown
