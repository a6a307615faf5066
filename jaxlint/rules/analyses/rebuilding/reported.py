"""What there is to say of methods that take instances apart and make them again."""

from __future__ import annotations

from jaxlint.cst.changes import Proposal
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.rebuilding.exchanged import Mismatch
from jaxlint.rules.analyses.rebuilding.flattening import Rebuilt
from jaxlint.rules.base import Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Expr, Span


def flattening_problem(at: Expr | Function | Span, message: str, advice: str, fix: Proposal | None = None) -> Problem:
    """What is wrong with how a class is taken apart and rebuilt."""
    return Problem(
        at=at if isinstance(at, Span) else at.at,
        message=message,
        reason="jax calls `tree_flatten()`, which returns children and aux data, and `tree_unflatten(aux, children)`",
        help=advice,
        fix=fix,
    )


def not_taken(cls: PytreeClass, back: Rebuilt, by: str, found: Mismatch) -> Problem:
    """What is wrong where the aux data holds an attribute, and what makes the instance does not pass it."""
    what = f"{by} does not pass `{found.left}` of `{cls.name}`, which is in the aux data"
    way_out = f"pass `{found.left}`"
    return flattening_problem(
        place_of(back.last.at), f"{what}: each transformation resets it to its default; {way_out}", way_out
    )
