"""Statements that bind a variable anew between two calls of a function that is transformed around it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import msgspec

from jaxlint.syntax.expressions import Call, dotted
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Augment,
    Body,
    ClassDefinition,
    For,
    FunctionDefinition,
    Statement,
    While,
    all_parts,
    assigned_names,
    blocks,
    target_names,
    walk,
)


class Called(msgspec.Struct, frozen=True):
    """A function, by its name, and the variable that holds it once it is transformed."""

    name: str
    handle: str | None


def rebindings_between(one: Called, name: str, body: Body) -> Iterator[Statement]:
    """The statements that bind the variable between two calls of the function, which is not made again."""
    for block in _all_blocks(body):
        called = False
        rebound: list[Statement] = []
        for statement in block:
            if _makes(one, statement):
                called, rebound = False, []
                continue
            if isinstance(statement, (For, While)) and not any(
                _makes(one, s) for s in walk((statement,), nested=False)
            ):
                yield from _bound_in(name, statement) if _calls(one, statement) else ()
            if _calls(one, statement):
                yield from rebound
                called, rebound = True, []
            if called:
                rebound += _bound_in(name, statement)


def _all_blocks(body: Body) -> Iterator[Body]:
    inner = (s for s in walk(body, nested=False) if not isinstance(s, (FunctionDefinition, ClassDefinition)))
    return chain((body,), (block for statement in inner for block in blocks(statement)))


def _makes(one: Called, statement: Statement) -> bool:
    """Whether a statement makes the transformed function, or binds its name to something else."""
    if isinstance(statement, FunctionDefinition):
        return statement.name in (one.handle, one.name)
    return one.handle in assigned_names((statement,)) and not blocks(statement)


def _calls(one: Called, statement: Statement) -> bool:
    if isinstance(statement, (FunctionDefinition, ClassDefinition)):
        return False
    return any(
        isinstance(part, Call) and dotted(part.func) == one.handle for part in all_parts((statement,), nested=False)
    )


def _bound_in(name: str, statement: Statement) -> Iterator[Statement]:
    """The statements that give the variable another value, in a statement or below it."""
    for inner in walk((statement,), nested=False):
        if isinstance(inner, (Assign, Annotate, Augment)) and name in assigned_names((inner,)):
            yield inner
        if isinstance(inner, For) and name in target_names(inner.target):
            yield inner
