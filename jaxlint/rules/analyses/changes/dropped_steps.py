"""Loops that step an instance from turn to turn and drop what it has become: some are only run, to be timed or warm."""

from __future__ import annotations

from enum import Enum

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Update
from jaxlint.rules.analyses.changes.only_run import is_compiled, is_watched
from jaxlint.rules.analyses.changes.unused_copies import measures
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Call, Name, last_name
from jaxlint.syntax.names_read import names_read
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    For,
    Return,
    While,
    assigned_names,
    target_names,
    walk,
)

#: What waits until a computation has ended, as benchmarks do.
WAITING = "block_until_ready"


class Drop(Enum):
    """What is to be said of an updated copy that a function binds to a variable and does not hand on."""

    #: Nobody ever reads it.
    UNUSED = "the copy is never used"
    #: Each turn of a loop goes on from the copy of the turn before, with something else.
    LAST = "the last copy is never used"
    #: So it does, with the same at each turn: it may be there to be run, and for nothing else.
    REPEATED = "each turn goes on from the copy of the turn before, and the last one is never used"
    #: It is there to be run.
    RUN = ""

    @property
    def is_certain(self) -> bool:
        """Whether somebody who wrote it has surely forgotten the copy."""
        return self in (Drop.UNUSED, Drop.LAST)


def drop_of(target: Name, update: Update | None, code: CodeRead, evaluator: Evaluator) -> Drop:
    """Why the copy that a statement binds to `target` is never read: see `Drop`."""
    loops = [s for s in code.statements if isinstance(s, (For, While))]
    loop, statement = next(((s, bound) for s in loops[::-1] if (bound := _binding(target, s))), (None, None))
    is_timed = measures(code, evaluator) or WAITING in code.contents.called
    if loop is None or statement is None or not _goes_on(target, statement, loop):
        is_run = is_timed and update is not None and is_compiled(update, evaluator)
        return Drop.RUN if is_run else Drop.UNUSED
    if is_timed or is_watched(code.place, place_of(target.at).row, code.body, evaluator):
        return Drop.RUN
    if _takes_another(target, statement, loop):
        return Drop.LAST
    returns = any(isinstance(s, Return) and s.value is not None for s in code.statements)
    only_runs = not returns and update is not None and is_compiled(update, evaluator)
    return Drop.RUN if only_runs else Drop.REPEATED


def _binding(target: Name, loop: For | While) -> Assign | Annotate | None:
    """The statement in a loop that binds a variable at a place."""
    for statement in walk(loop.body, nested=False):
        match statement:
            case Assign(targets=(Name() as bound,)) | Annotate(target=Name() as bound) if bound is target:
                return statement
    return None


def _goes_on(target: Name, statement: Assign | Annotate, loop: For | While) -> bool:
    """Whether a turn of a loop begins with what the turn before has bound to a variable."""
    if isinstance(loop, For) and target.id in target_names(loop.target):
        return False
    others = [s for s in walk(loop.body, nested=False) if s is not statement and target.id in assigned_names((s,))]
    return not others and target.id in names_read((statement,))


def _takes_another(target: Name, statement: Assign | Annotate, loop: For | While) -> bool:
    """Whether an update takes what a loop goes through, which is no mere count of turns, or what is made of it."""
    if not isinstance(loop, For) or _is_count(loop):
        return False
    taken = set(target_names(loop.target))
    for one in walk(loop.body, nested=False):
        if one is not statement and not taken.isdisjoint(names_read((one,))):
            taken |= set(assigned_names((one,)))
    return not (taken - {target.id}).isdisjoint(names_read((statement,)))


def _is_count(loop: For) -> bool:
    return isinstance(loop.iterable, Call) and last_name(loop.iterable.func) in ("range", "arange", "trange", "count")
