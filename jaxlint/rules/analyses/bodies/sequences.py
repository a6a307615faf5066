"""Statements in the order in which they run, and whether functions inside read a variable when they are called."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.syntax.expressions import Lambda
from jaxlint.syntax.names_read import names_inside, names_read
from jaxlint.syntax.statements import (
    Body,
    ClassDefinition,
    FunctionDefinition,
    Raise,
    Return,
    Statement,
    Try,
    all_parts,
    blocks,
    walk,
)


def sequences(
    body: Body, after: tuple[Statement, ...], behind: tuple[Statement, ...] = ()
) -> Iterator[tuple[Statement, tuple[Statement, ...], tuple[Statement, ...]]]:
    """The statements of a body, each with those that run after it in the blocks around it, and with what stands behind.

    What stands behind a block that ends the function runs in its other turns: when a branch is not taken.
    """
    for index, statement in enumerate(body):
        following = (*body[index + 1 :], *after)
        yield statement, following, behind
        if not isinstance(statement, (FunctionDefinition, ClassDefinition, Try)):
            for block in blocks(statement):
                if _ends(block):
                    yield from sequences(block, (), (*following, *behind))
                else:
                    yield from sequences(block, following, behind)


def _ends(block: Body) -> bool:
    """Whether nothing behind a block runs after it: it hands something back, or raises."""
    return bool(block) and isinstance(block[-1], (Raise, Return))


def is_read_later(name: str, body: Body) -> bool:
    """Whether a function or lambda in a body reads a variable, which may be called whenever."""
    inside = (s for s in walk(body) if isinstance(s, (FunctionDefinition, ClassDefinition)))
    if any(name in names_read((s,)) for s in inside):
        return True
    return any(isinstance(part, Lambda) and name in names_inside(part) for part in all_parts(body))
