"""How what a step made and the function dropped is put into words."""

from __future__ import annotations

from jaxlint.cst.changes import Proposal, Rename
from jaxlint.finding import Applicability
from jaxlint.rules.analyses.changes.named_successors import Forgotten
from jaxlint.rules.analyses.changes.optimizer_states import LostOptimizerState
from jaxlint.rules.analyses.changes.raw_gradients import RawGradients
from jaxlint.rules.analyses.changes.split_apart import Dropped
from jaxlint.rules.analyses.changes.unused_steps import UnusedStep
from jaxlint.rules.base import Problem


def problem_of_dropped(found: Dropped) -> Problem:
    """The problem of a module that goes on without the state that was taken out of it."""
    way_out = f"write `nnx.update({found.module}, {found.state})` before that"
    return Problem(
        at=found.read.at,
        message=(
            f"`{found.state}` was taken out of `{found.module}` and is read by nothing but its next update:"
            f" `{found.module}` is still what it was; {way_out}"
        ),
        reason="`nnx.split` gives a copy of the state, which the module does not share",
        help=way_out,
    )


def optimizer_problem(found: LostOptimizerState) -> Problem:
    """The problem of an optimizer whose new state is dropped."""
    way_out = f"put it back: `{found.field}=...`"
    return Problem(
        at=found.at,
        message=(
            f"`{found.name}` is the new state of the optimizer and is dropped: the updated `{found.cls.name}` still has"
            f" the old `{found.field}`, and the optimizer starts anew at each step; {way_out}"
        ),
        reason="an optimizer changes nothing in place: its moments and counts are in the state that `update` returns",
        help=f"give the new state to the copy of `{found.base}` as well: `{found.field}=...`",
    )


def step_problem(found: UnusedStep) -> Problem:
    """The problem of parameters that nothing reads."""
    way_out = f"put it where `{found.parameters}` was"
    return Problem(
        at=found.at,
        message=f"`{found.name}`, what `apply_updates` returns, is never used: the step is lost; {way_out}",
        reason="`apply_updates` returns new parameters, and changes none in place",
        help=way_out,
    )


def gradients_problem(found: RawGradients) -> Problem:
    """The problem of gradients in the place of updates."""
    way_out = f"pass `{found.updates}`"
    return Problem(
        at=found.given.at,
        message=(
            f"`{found.updates}` is what the optimizer makes of `{found.given.id}` and is dropped: `apply_updates` adds"
            f" the gradients themselves; {way_out}"
        ),
        reason="`apply_updates` only adds: the sign, the rate and the momentum are in what `update` returns",
        help=way_out,
        fix=Proposal(f"Pass `{found.updates}`", Applicability.UNSAFE, (Rename(found.given.at, found.updates),)),
    )


def problem_of_forgotten(found: Forgotten, function: str) -> Problem:
    """The problem of what a call made of a parameter, which is returned in its place."""
    way_out = f"return `{found.name}`"
    return Problem(
        at=found.at,
        message=(
            f"`{found.name}` is what the call makes of `{found.original}` and is never used: `{function}` returns"
            f" `{found.original}`, as it was given; {way_out}"
        ),
        reason="what a call returns takes the place of what it was given only where it is bound or returned",
        help=way_out,
    )
