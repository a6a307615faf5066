"""Rules are loaded in mypy when an event comes that they look at."""

from __future__ import annotations

import pytest
from jaxlint_mypy.running import left_out

from jaxlint.infer.evaluating import events
from jaxlint.infer.evaluating.events import Event
from jaxlint.rules import all_rules, names_but_of_event
from jaxlint.rules.base import EventRule

KINDS = sorted(
    (one for one in vars(events).values() if isinstance(one, type) and issubclass(one, Event) and one is not Event),
    key=lambda one: one.__name__,
)


@pytest.mark.parametrize("kind", KINDS)
def test_rules_that_look_at_an_event_are_not_left_out(kind: type[Event]) -> None:
    wanted = {rule.name for rule in all_rules() if issubclass(rule, EventRule) and issubclass(kind, rule.events)}
    assert wanted.isdisjoint(names_but_of_event(kind))


def test_most_event_rules_are_left_out() -> None:
    looking = {rule.name for rule in all_rules(left_out()) if issubclass(rule, EventRule)}
    assert len(looking - names_but_of_event(events.AssignAttribute)) < len(looking)
    assert looking - names_but_of_event(events.AssignItem) == {"item-assignment", "static-counter"}
