"""What the function of a loop makes of the fields of its carry, beside what they are in the beginning."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.events import Construct
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.expressions import Binary, Call, Constant, DictDisplay, Display, Expr, Name, dotted, last_name
from jaxlint.syntax.statements import Assign, Body, Return, looked_up, walk

#: Functions that make an array of a dtype that may be given, by the position of the dtype.
_MAKERS = {"zeros": 1, "ones": 1, "empty": 1, "full": 2, "array": 1, "asarray": 1}
_INTEGERS = frozenset("int8 int16 int32 int64 uint8 uint16 uint32 uint64 int".split())
_LIBRARIES = frozenset({"jnp", "jax.numpy", "np", "numpy"})


class Carry(msgspec.Struct, frozen=True):
    """The carry of a loop: its class, its name in the function, the call that makes it, and the function's body."""

    cls: PytreeClass
    name: str
    construct: Construct
    body: Body


class Change(msgspec.Struct, frozen=True):
    """A field that does not stay what it is, in words."""

    field: str
    before: str
    after: str
    way_out: str


def changes(carry: Carry) -> Iterator[Change]:
    """The fields that certainly get another dtype, or new keys, in every turn."""
    call = carry.construct.call
    if call.has_star or carry.cls.custom_init() is not None or carry.cls.method("__post_init__") is not None:
        return
    exprs = {id(argument.at): argument.value for argument in call.args}
    assigned = _assigned_once(carry.body)
    for given in carry.construct.arguments:
        field, before = carry.cls.field(given.name), exprs.get(id(given.at))
        if field is None or before is None or field.role is not Role.LEAF or field.is_converted:
            continue
        after = _given_by_all(given.name, carry, assigned)
        if not after:
            continue
        path = f"{carry.name}.{given.name}"
        if is_integer(before) and all(_is_float(expr, path) for expr in after):
            yield Change(given.name, "is an integer", "gives it a float", "give it a float from the beginning")
            continue
        keys = _keys(before)
        added = [_added(expr, path, keys) for expr in after] if keys is not None else []
        if added and all(added):
            what = f"adds the key `{added[0]}` to it"
            yield Change(given.name, "is a dict", what, f"give it `{added[0]}` from the beginning")


def _assigned_once(body: Body) -> dict[str, Expr]:
    """The variables of a body that are assigned once, and what."""
    found: dict[str, list[Expr]] = {}
    for statement in walk(body, nested=False):
        if isinstance(statement, Assign) and isinstance(statement.targets[0], Name):
            found.setdefault(statement.targets[0].id, []).append(statement.value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _given_by_all(field: str, carry: Carry, assigned: dict[str, Expr]) -> list[Expr]:
    """What each `return` gives to a field; empty if one of them is not understood."""
    found: list[Expr] = []
    for statement in walk(carry.body, nested=False):
        if isinstance(statement, Return):
            value = statement.value
            first = value.items[0] if isinstance(value, Display) and value.items else value
            given = None if first is None else _given(looked_up(first, assigned), field, carry)
            if given is None:
                return []
            found.append(looked_up(given, assigned))
    return found


def _given(made: Expr, field: str, carry: Carry) -> Expr | None:
    """What a call that makes the next carry gives to a field."""
    if not isinstance(made, Call) or made.has_star:
        return None
    if last_name(made.func) in ("replace", "_replace"):
        base = made.positional[0] if made.positional else getattr(made.func, "value", None)
        return made.keyword(field) if base is not None and dotted(base) == carry.name else None
    if last_name(made.func) != carry.cls.name:
        return None
    parameters = [p.name for p in carry.cls.constructor() or () if p.kind == "positional"]
    by_position = dict(zip(parameters, made.positional, strict=False))
    return made.keyword(field) or by_position.get(field)


def is_integer(expr: Expr) -> bool:
    """Whether an expression certainly makes an array of integers, by its dtype."""
    if not isinstance(expr, Call):
        return False
    library, _, name = (dotted(expr.func) or "").rpartition(".")
    if library not in _LIBRARIES:
        return False
    if name in _INTEGERS:
        return True
    position = _MAKERS.get(name)
    if position is None:
        return False
    dtype = expr.keyword("dtype")
    if dtype is None and len(expr.positional) > position:
        dtype = expr.positional[position]
    return dtype is not None and last_name(dtype) in _INTEGERS


def _is_float(expr: Expr, path: str) -> bool:
    """Whether an expression makes a float of what a path holds."""
    if not isinstance(expr, Binary) or dotted(expr.left) != path:
        return False
    return expr.op == "/" or (expr.op in ("+", "-", "*") and getattr(expr.right, "kind", "") == "float")


def _keys(expr: Expr) -> frozenset[str] | None:
    """The keys of a dict display, if all of them are written out."""
    if not isinstance(expr, DictDisplay):
        return None
    keys = [key.value for key in expr.keys if isinstance(key, Constant) and isinstance(key.value, str)]
    return frozenset(keys) if len(keys) == len(expr.keys) else None


def _added(expr: Expr, path: str, keys: frozenset[str] | None) -> str | None:
    """A key that a copy of a dict has and the dict has not."""
    if isinstance(expr, Binary) and expr.op == "|" and dotted(expr.left) == path:
        more = _keys(expr.right)
    elif isinstance(expr, DictDisplay) and any(
        key is None and dotted(value) == path for key, value in zip(expr.keys, expr.values, strict=True)
    ):
        more = frozenset(k.value for k in expr.keys if isinstance(k, Constant) and isinstance(k.value, str))
    else:
        return None
    return min((more or frozenset()) - (keys or frozenset()), default=None)
