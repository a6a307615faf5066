"""Containers while a function is traced, above all dicts: how they are made, copied and changed in place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from jaxlint.rules.analyses.under_trace.forms import MAYBE_NONE, SOMETHING, UNKNOWN, Form, Held, State
from jaxlint.rules.analyses.under_trace.things import Thing, form_of
from jaxlint.syntax.expressions import Call, Constant, Expr


def written_dict(keys: Sequence[Expr | None], values: Sequence[Form]) -> Form:
    """A dict that is written out: `{"a": 1, **others}`."""
    entries: dict[str, Form] = {}
    for key, value in zip(keys, values, strict=True):
        if key is None and isinstance(value, Held) and value.kind == "dict":
            entries |= value.entries
        elif isinstance(key, Constant) and isinstance(key.value, str):
            entries[key.value] = value
        else:
            return SOMETHING
    return Held("dict", entries)


def dict_called(call: Call, values: Sequence[Thing]) -> Form:
    """What `dict(...)` makes of other dicts, and of what it is given by keyword."""
    return _with_entries({}, call, values)


def with_item(held: Held, index: Expr, given: Form) -> Form:
    """What a container is after one of its items was assigned."""
    if held.kind == "dict" and isinstance(index, Constant) and isinstance(index.value, str):
        return Held("dict", {**held.entries, index.value: given})
    return UNKNOWN


def changed_by(held: Held, name: str, call: Call, values: Sequence[Thing]) -> Form:
    """What a container is after a call of its method `name`, which changes it."""
    if held.kind != "dict":
        return UNKNOWN
    if name == "update":
        return _with_entries(held.entries, call, values)
    key = call.positional[0].value if call.positional and isinstance(call.positional[0], Constant) else None
    if not isinstance(key, str) or call.has_star:
        return UNKNOWN
    if name == "setdefault":
        given = form_of(values[1]) if len(values) > 1 else MAYBE_NONE
        return Held("dict", {key: given, **held.entries})
    if name == "pop":
        return Held("dict", {other: entry for other, entry in held.entries.items() if other != key})
    return UNKNOWN


def _with_entries(known: Mapping[str, Form], call: Call, values: Sequence[Thing]) -> Form:
    entries = dict(known)
    for argument, value in zip(call.args, values, strict=True):
        if argument.keyword is not None:
            entries[argument.keyword] = form_of(value)
        elif argument.star != "*" and isinstance(value, Held) and value.kind == "dict":
            entries |= value.entries
        else:
            return UNKNOWN
    return Held("dict", entries)


def where_changed(thing: Thing, old: Held, new: Form) -> Thing:
    """A thing after a container was changed in place that it is, or holds: what is one object there is one here."""
    if thing is old:
        return new
    if isinstance(thing, (State, Held)):
        held = thing.fields if isinstance(thing, State) else thing.entries
        after = {name: form_of(where_changed(form, old, new)) for name, form in held.items()}
        if any(after[name] is not form for name, form in held.items()):
            if isinstance(thing, State):
                return msgspec.structs.replace(thing, fields=after)
            return msgspec.structs.replace(thing, entries=after)
    return thing


def containers_in(thing: Thing) -> Iterator[Held]:
    """The containers that whoever is given a thing may change in place."""
    if isinstance(thing, (State, Held)):
        if isinstance(thing, Held) and thing.kind != "tuple":
            yield thing
        for part in (thing.fields if isinstance(thing, State) else thing.entries).values():
            yield from containers_in(part)


def after_changes(variables: Mapping[str, Thing], changed: Iterable[Held]) -> dict[str, Thing]:
    """The variables of a function after it called another one that changed some containers in place, perhaps."""
    after = dict(variables)
    for old in changed:
        after = {name: where_changed(thing, old, UNKNOWN) for name, thing in after.items()}
    return after
