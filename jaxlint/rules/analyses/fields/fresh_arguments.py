"""Static arguments of compiled functions that are another object in each turn of a loop, equal to no other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Cross
from jaxlint.libraries.transforms import Kind
from jaxlint.rules.analyses.bodies.turns import Turn
from jaxlint.rules.analyses.fields.freshness import Freshness
from jaxlint.rules.analyses.fields.seldom_moved import happens_seldom
from jaxlint.rules.analyses.instances.origins import argument_at
from jaxlint.syntax.expressions import Call, Comprehension, Expr, Name
from jaxlint.syntax.names_read import names_inside, names_read
from jaxlint.syntax.statements import FunctionDefinition, Statement, bound_names, parts, target_names, walk


class FreshArgument(msgspec.Struct, frozen=True):
    """A new object that a turn passes for a static parameter."""

    event: Cross
    expr: Expr
    what: str
    #: Whether each turn may be worth a compilation: it has a loop of its own beside the call, or wants another object.
    is_worth: bool


def fresh_arguments(
    around: tuple[Statement, ...], inside: Iterable[Expr], code: CodeRead, evaluator: Evaluator
) -> Iterator[FreshArgument]:
    """What the turns of a loop pass for static parameters, of what stands `inside` of it."""
    events = [event for event in code.events if isinstance(event, Cross) and _compiles_anew(event)]
    ids = {id(part) for part in inside} if events else set()
    fresh = Freshness(code.place.module, code.scope, around, evaluator, code)
    for event in events:
        given = argument_at(event.at, code.body)
        if given is None or id(given[0]) not in ids or happens_seldom(given[0].at, around):
            continue
        what = fresh.of(given[1])
        if what is not None:
            turn = Turn(given[0], False, around, inside)
            is_another = not _asked(given[1], around).isdisjoint(_bound(given[0], around, code))
            yield FreshArgument(event, given[1], what, is_another or turn.runs_long(event.at))


def _asked(expr: Expr, around: tuple[Statement, ...]) -> set[str]:
    """The names that an expression asks for, and if it is a variable, those that it is made with."""
    if not isinstance(expr, Name):
        return set(names_inside(expr))
    made = [s for s in walk(around, nested=False) if expr.id in bound_names(s)]
    bodies = [s.body if isinstance(s, FunctionDefinition) else (s,) for s in made]
    return {name for body in bodies for name in names_read(body)} - {expr.id}


def _bound(call: Call, around: tuple[Statement, ...], code: CodeRead) -> set[str]:
    """The variables that a loop binds, and comprehensions around the call."""
    clauses = (
        clause
        for one in code.contents.of(Comprehension)
        if any(part is call for part in parts(one))
        for clause in one.clauses
    )
    names = {name for statement in walk(around, nested=False) for name in bound_names(statement)}
    return names.union(*(target_names(clause.target) for clause in clauses))


def _compiles_anew(event: Cross) -> bool:
    """Whether another value of the argument is compiled for: `jax.checkpoint` compiles nothing of its own."""
    holding = (applied for applied in event.applied if applied.static_argnums or applied.static_argnames)
    return event.static is True and any(applied.transform.kind is Kind.JIT for applied in holding)
