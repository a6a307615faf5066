"""Whether the same value is taken for an array of jax further down: `x.at[i].set(v)`."""

from __future__ import annotations

from jaxlint.libraries.arrays import is_at_update
from jaxlint.syntax.expressions import Attribute, Call, Expr, Subscript, dotted, is_within, items_of
from jaxlint.syntax.statements import (
    Body,
    Do,
    For,
    Jump,
    Raise,
    Return,
    Statement,
    Try,
    While,
    With,
    all_parts,
    blocks,
    own_parts,
    targets_of,
    walk,
)


def is_updated_by_at(path: str, at: object, body: Body) -> bool:
    """Whether all who pass the place `at` come to an update by `.at` of what a path stands for there.

    Then it is an array of jax already at that place. What one branch does is not believed: it may have asked for the
    type before.
    """
    return _after(path, at, body) is True


def _after(path: str, at: object, body: Body) -> bool | None:
    """The same from the place to the end of a body; None if the end is reached with the same value."""
    for index, statement in enumerate(body):
        if any(part.at is at for part in own_parts(statement)):
            return _follow(path, body[index + 1 :])
        block = next((one for one in blocks(statement) if any(part.at is at for part in all_parts(one))), None)
        if block is not None:
            found = False if isinstance(statement, Try) else _after(path, at, block)
            return _follow(path, body[index + 1 :]) if found is None else found
    return False


def _follow(path: str, rest: Body) -> bool | None:
    for statement in rest:
        if not isinstance(statement, Do) and any(_updated(part) == path for part in own_parts(statement)):
            return True  # a copy that is used: of a reference there is none
        if isinstance(statement, (Jump, Return, Raise)) or _binds(path, statement):
            return False
        for block in blocks(statement):
            if isinstance(statement, (For, While, With)) and _follow(path, block) is True:
                return True
            if any(isinstance(one, Return) or _binds(path, one) for one in walk(block, nested=False)):
                return False
    return None


def _binds(path: str, statement: Statement) -> bool:
    bound = (dotted(one) or "" for target in targets_of(statement) for one in items_of(target))
    return is_within(path, bound)


def _updated(part: Expr) -> str | None:
    """The path of the array of which a call makes an updated copy by `.at`."""
    match part:
        case Call(func=Attribute(value=Subscript(value=Attribute(value=array))) as func) if is_at_update(func):
            return dotted(array)
    return None
