"""What happens at each call of a function, whatever it is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxlint.infer.evaluating.events import AssignAttribute, AssignItem, CallMethod, Discard, Event
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, Subscript
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
    expressions,
    walk,
)

_SIMPLE = (Annotate, Assign, Augment, Delete, Do, Return)
#: Behind these a function may have ended.
_ENDING = (Assert, Jump, Raise, Return)


def at_each_call(events: Sequence[Event], body: Body) -> list[Event]:
    """The assignments, lost copies and method calls among events that are statements of their own in a body.

    What depends on a test may be meant for something else that the function is given.
    """
    places = {place_of(expr.at) for statement in always_run(body) for expr in expressions(statement)}
    return [event for event in events if _is_plain(event) and place_of(event.at) in places]


def changed_in(statement: Statement) -> Expr | None:
    """The expression of which a simple statement assigns an attribute or an item, or calls a method."""
    match statement:
        case Assign(targets=(Name(),), value=Call(func=changed)) | Do(value=Call(func=changed)):
            pass
        case Assign(targets=(changed,)) | Augment(target=changed):
            pass
        case _:
            return None
    while isinstance(changed, Subscript):
        changed = changed.value
    return changed.value if isinstance(changed, Attribute) else None


def always_run(body: Body) -> Iterator[Statement]:
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
