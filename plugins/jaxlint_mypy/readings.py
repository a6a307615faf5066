"""What jaxlint's own reading knows of an event that mypy shows: it follows values, where a type is only declared."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from jaxlint.infer.environment import Environment
from jaxlint.infer.events import AssignAttribute, AssignItem, Construct, Event, KeywordValue, Replace
from jaxlint.infer.rows import Rows
from jaxlint.infer.values import UNKNOWN, Array, UnknownValue, Value, plain
from jaxlint.project.modules import Module
from jaxlint.symbols.outline import Unit
from jaxlint.syntax.ast_expressions import place_of

if TYPE_CHECKING:
    from jaxlint.infer.reader import ModuleReader

#: The events that hold values.
_Valued = (AssignAttribute, AssignItem, Construct, Replace)
#: The type of such an event, and the row and column at which it begins.
_Key: TypeAlias = tuple[type[Event], int, int]


class Readings:
    """Reads the functions in which rules have found something, each of them once."""

    def __init__(self, reader: ModuleReader) -> None:
        self.reader = reader
        self._events: dict[tuple[str, int], dict[_Key, Event]] = {}

    def refined(self, event: Event) -> Event:
        """The event with what the reading knows better than the types; itself if the reading does not see it."""
        if not isinstance(event, _Valued) or not isinstance(event.at, tuple):
            return event
        row, column = event.at[:2]
        read = self._around(event.place.module, row).get((type(event), row, column))
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
                return replace(event, receiver=read.receiver, owner=read.owner, made_here=read.made_here)
        return event

    def _around(self, module: Module, row: int) -> dict[_Key, Event]:
        """The events of the function around a row, or of the statements of the module."""
        units = module.outline.units
        if not units:  # its text is gone: it was piped into mypy
            return {}
        unit = units[bisect_right(units, row, key=lambda u: u.first) - 1]
        if unit.kind == "code":
            key, chosen = (module.path, 0), [(u, Rows.around(u.first, u)) for u in units if u.kind == "code"]
        else:
            rows = Rows.around(row, unit)
            key, chosen = (module.path, max(rows.places, default=unit.first)), [(unit, rows)]
        if key not in self._events:
            self._events[key] = self._read(module, chosen)
        return self._events[key]

    def _read(self, module: Module, chosen: list[tuple[Unit, Rows]]) -> dict[_Key, Event]:
        reader = self.reader
        reader.start(module, chosen)
        reader.calls.deferral.start(lambda name: True)  # which calls are of interest was not indexed
        env = Environment(module, "")
        events = [event for unit, rows in chosen for event in reader.read_unit(module, unit, rows, env)]
        reader.begin(module)
        valued = [event for event in events if isinstance(event, _Valued)]
        return {(type(event), *place_of(event.at)[:2]): event for event in valued}


def _refined(shown: tuple[KeywordValue, ...], read: tuple[KeywordValue, ...]) -> tuple[KeywordValue, ...]:
    values = {one.name: one.value for one in read}
    return tuple([replace(one, held=_better(one.value, values.get(one.name, UNKNOWN))) for one in shown])


def _better(shown: Value, read: Value) -> Value:
    """What is known of a value by its type and by reading: a type of numpy's may say "array" of a number."""
    if not isinstance(plain(read), UnknownValue):
        return read
    value = plain(shown)
    return UNKNOWN if isinstance(value, Array) and value.library == "numpy" else shown
