"""Attributes that a named tuple has beside its fields: jax makes it anew of the fields alone."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Parameter
from jaxlint.syntax.expressions import Attribute, Call, Name, is_special, last_name
from jaxlint.syntax.names_read import names_inside
from jaxlint.syntax.statements import Assign, Return, bound_once, walk


class BesideTuple(msgspec.Struct, frozen=True):
    """An attribute that `__new__` gives an instance, by a parameter that is no field."""

    at: object
    attr: str
    parameter: Parameter
    cls: PytreeClass


def beside_tuple(code: CodeRead) -> Iterator[BesideTuple]:
    """What the `__new__` of a named tuple keeps of parameters that take no field when the instance is rebuilt.

    What it computes of the fields is computed again.
    """
    function, cls = code.function, code.place.owner
    if function is None or cls is None or function.name != "__new__" or function is not code.place.method:
        return
    if not cls.framework.is_tuple or not cls.bases_known or not cls.fields_known:
        return
    taken = {name for name in function.positional[1 : 1 + len(cls.fields)]}
    others = {p.name: p for p in function.parameters[1:] if p.name not in taken and not p.kind.startswith("*")}
    bound = bound_once(code.body)
    fields = {field.name for field in cls.fields}
    returned = {s.value.id for s in walk(code.body) if isinstance(s, Return) and isinstance(s.value, Name)}
    for statement in walk(code.body, nested=False):
        match statement:
            case Assign(targets=(Attribute(value=Name(id=name), attr=attr) as target,), value=value):
                made = bound.get(name)
                is_new = isinstance(made, Call) and last_name(made.func) == "__new__" and name in returned
                kept = names_inside(value) & others.keys() if is_new and attr not in fields else set()
                if kept and not is_special(attr):
                    yield BesideTuple(target.at, attr, others[min(kept)], cls)
