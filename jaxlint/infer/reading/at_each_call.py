"""What happens at each call of a function, whatever it is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxlint.infer.evaluating.events import AssignAttribute, AssignItem, CallMethod, Discard, Event
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.statements import (
    Annotate,
    Assert,
    Assign,
    Augment,
    Body,
    Delete,
    Do,
    Jump,
    Raise,
    Return,
    Statement,
    Try,
    expressions,
    walk,
)

_SIMPLE = (Annotate, Assign, Augment, Delete, Do, Return)
#: Behind these a function may have ended, or gone on after an error.
_ENDING = (Assert, Jump, Raise, Return, Try)


def at_each_call(events: Sequence[Event], body: Body) -> list[Event]:
    """The assignments, lost copies and method calls among events that are statements of their own in a body.

    What depends on a test may be meant for something else that the function is given.
    """
    places = {place_of(expr.at) for statement in _always_run(body) for expr in expressions(statement)}
    return [event for event in events if _is_plain(event) and place_of(event.at) in places]


def _always_run(body: Body) -> Iterator[Statement]:
    """The simple statements of a body up to the first after which it may have ended."""
    for statement in body:
        if isinstance(statement, _SIMPLE):
            yield statement
        if any(isinstance(inner, _ENDING) for inner in walk((statement,), nested=False)):
            return


def _is_plain(event: Event) -> bool:
    if isinstance(event, Discard):
        return event.is_alone
    if isinstance(event, AssignAttribute):
        return event.how != "setattr"
    return isinstance(event, (AssignItem, CallMethod))
