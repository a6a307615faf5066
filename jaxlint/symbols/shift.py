"""The facts of an outline, some rows further down."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from jaxlint.symbols.outline import Function, Unit
from jaxlint.syntax.expressions import Span

T = TypeVar("T")

#: The fields of each struct; other things have none.
_FIELDS: dict[type, tuple[str, ...]] = {}


def shifted(value: T, rows: int) -> T:
    """`value`, a part of an outline, as it is if it stands some `rows` further down (or up)."""
    found: T = _shifted(value, rows)
    return found


def _shifted(value: Any, rows: int) -> Any:
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is Span:
        return Span(value[0] + rows, value[1], value[2] + rows, value[3])
    if kind is tuple:
        return tuple([_shifted(item, rows) for item in value]) if value else value
    if kind is dict:
        return {key: _shifted(item, rows) for key, item in value.items()}
    if kind is list:
        return [_shifted(item, rows) for item in value]
    if kind is frozenset:
        return frozenset([_shifted(item, rows) for item in value]) if any(type(v) is Span for v in value) else value
    names = _FIELDS.get(kind)
    if names is None:
        names = _FIELDS[kind] = kind.__struct_fields__ if isinstance(value, msgspec.Struct) else ()
    if not names:
        return value
    changed = [_shifted(getattr(value, name), rows) for name in names]
    made = kind(*changed)
    if kind is Function and value.body_rows[0] > 0:
        made.body_rows = (value.body_rows[0] + rows, value.body_rows[1] + rows)
    elif kind is Unit:
        made = msgspec.structs.replace(made, first=value.first + rows, last=value.last + rows)
    return made
