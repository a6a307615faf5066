"""The updates of a variable that a call is given: the one before it, or that of the turn of a loop before."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.events import CodeRead, Replace
from jaxlint.syntax.expressions import Call, Name
from jaxlint.syntax.statements import Assign, Body, For, Statement, While, all_parts, blocks, bound_names, target_names


def updates_reaching(name: str, call: Call, code: CodeRead) -> Iterator[Replace]:
    """The updates that a variable holds where a call is given it, on some way to the call that surely is taken."""
    updates = {id(event.call): event for event in code.events if isinstance(event, Replace)}
    for block, loop in _blocks(code):
        at = next((n for n, s in enumerate(block) if any(part is call for part in all_parts((s,)))), None)
        if at is None or (any(blocks(block[at])) and _binds(name, block[at])):
            continue
        bound = [n for n, s in enumerate(block) if _binds(name, s)]
        before = [n for n in bound if n < at]
        if before:
            last = before[-1]
        elif bound and loop is not None and not (isinstance(loop, For) and name in target_names(loop.target)):
            last = bound[-1]
        else:
            continue
        match block[last]:
            case Assign(targets=(Name(),), value=Call() as made) if id(made) in updates:
                yield updates[id(made)]


def _blocks(code: CodeRead) -> Iterator[tuple[Body, For | While | None]]:
    """The blocks of a body, each with the loop that repeats it."""
    yield code.body, None
    for statement in code.statements:
        for block in blocks(statement):
            is_repeated = isinstance(statement, (For, While)) and block is statement.body
            yield block, statement if is_repeated else None  # type: ignore[misc]


def _binds(name: str, statement: Statement) -> bool:
    """Whether a statement, or one in its blocks, binds a variable."""
    return name in bound_names(statement) or any(_binds(name, s) for block in blocks(statement) for s in block)
