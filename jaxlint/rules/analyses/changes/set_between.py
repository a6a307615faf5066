"""Attributes that code outside of a class sets between two calls of a method of the same instance."""

from __future__ import annotations

from collections.abc import Collection

from jaxlint.infer.bodies.slots import changed_by
from jaxlint.syntax.expressions import Attribute, Call, dotted
from jaxlint.syntax.statements import (
    Body,
    For,
    Jump,
    Return,
    Statement,
    While,
    all_parts,
    blocks,
    bound_by,
    bound_names,
    walk,
)


def called_around(at: object, path: str, methods: Collection[str], body: Body) -> tuple[Call, Call] | None:
    """The calls of methods of an object before one of its attributes is set at a place, and again afterwards.

    That is in the same block, or in a loop around both; nothing else may be bound to the path meanwhile.
    """
    for index, statement in enumerate(body):
        if _sets(statement, at):
            first = next((i for i, s in enumerate(body[:index]) if _called(path, methods, (s,))), None)
            before = None if first is None or _binds(path, body[first:]) else _called(path, methods, body[first:index])
            after = None if before is None else _called(path, methods, body[index + 1 :])
            return None if before is None or after is None else (before, after)
        block = next((one for one in blocks(statement) if any(_sets(s, at) for s in walk(one, nested=False))), None)
        if block is not None:
            found = called_around(at, path, methods, block)
            if found is None and isinstance(statement, (For, While)) and not _binds(path, (statement,)):
                leaves = any(isinstance(s, (Return, Jump)) for s in walk(block, nested=False))
                call = None if leaves else _called(path, methods, block)
                found = None if call is None else (call, call)
            return found
    return None


def _sets(statement: Statement, at: object) -> bool:
    return any(place is at for place, _ in changed_by(statement))


def _called(path: str, methods: Collection[str], body: Body) -> Call | None:
    """The first call in a body of one of some methods of what a path stands for; of itself, if that is `__call__`."""
    for part in all_parts(body, nested=False):
        match part:
            case Call(func=Attribute(value=holder, attr=attr)) if attr in methods and dotted(holder) == path:
                return part
            case Call(func=func) if "__call__" in methods and dotted(func) == path:
                return part
    return None


def called_method(call: Call, path: str) -> str:
    """The method of what a path stands for that a call runs."""
    return call.func.attr if isinstance(call.func, Attribute) and dotted(call.func) != path else "__call__"


def _binds(path: str, body: Body) -> bool:
    """Whether a body gives a path, or the variable with which it begins, another value."""
    start = path.partition(".")[0]
    return any(
        start in bound_names(s) or any(dotted(target) == path for target in bound_by(s))
        for s in walk(body, nested=False)
    )
