"""Whether a body gives an attribute or item its old value again, or None, once it is done with it."""

from __future__ import annotations

from collections import Counter

from jaxlint.infer.bodies.slots import Slot, slot_of
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Name, dotted, is_none
from jaxlint.syntax.statements import Assign, Body, assigned_pairs, bound_names, walk


def is_put_back(slot: Slot, function: Function | None, body: Body) -> bool:
    """Whether a body keeps an attribute or item in a variable, and gives it that value again in the end."""
    statements = list(walk(body, nested=False))
    parameters = () if function is None else function.parameters
    bound = Counter([*(p.name for p in parameters), *(n for s in statements for n in bound_names(s))])
    saved: set[str] = set()
    for statement in statements:
        if isinstance(statement, Assign):
            pairs = assigned_pairs(statement)
            given = [value for target, value in pairs if slot_of(target) == slot]
            if any(isinstance(value, Name) and value.id in saved for value in given):
                return True
            names = {target.id for target, value in pairs if isinstance(target, Name) and slot_of(value) == slot}
            saved |= {name for name in names if bound[name] == 1}
    return False


def is_emptied(path: str, body: Body) -> bool:
    """Whether a body gives an attribute `None` once it is done with it."""
    values = [s.value for s in body if isinstance(s, Assign) and path in map(dotted, s.targets)]
    return bool(values) and is_none(values[-1])
