"""Which rules run in mypy (they are loaded when they are needed), and what is said where one fails."""

from __future__ import annotations

import os
import traceback
from functools import cached_property

from jaxlint import __version__
from jaxlint.config.settings import Settings, rule_enabled
from jaxlint.infer.evaluating.events import CodeRead, Event
from jaxlint.rules import all_rules, body_rule_names, names_but_of_class_rules, names_but_of_event
from jaxlint.rules.base import ClassRule, Rule
from jaxlint_mypy.internals import spared_by_collector

#: Rules not run here, beside those that only read bodies. What some report are mypy's own errors, once it knows
#: the signatures: JAX311, JAX402 and JAX412 (call-arg), JAX404 (attr-defined). The others look at transformations, at
#: comments, or at what other modules do with a class.
_LEFT_OUT = frozenset(
    {
        "replace-unknown-field",
        "no-replace-method",
        "constructor-arguments",
        "train-state",
        "unhashable-static-argument",
        "jit-static-annotation",
        "grad-over-int",
        "uninitialised-field",
        "unregistered-class",
        "unreadable-file",
        "unknown-suppression",
        "unused-suppression",
    }
)
#: The rules that read bodies here: those in which a static field, or a container among the leaves, is changed in place.
BODY_RULES = frozenset({"mutated-static-value", "lost-mutation"})


class RulesHere:
    """The rules that the settings enable, but for those that are not run here."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: dict[type[Rule], Rule] = {}
        self._of_events: dict[type[Event], list[Rule]] = {}

    @cached_property
    def of_classes(self) -> list[ClassRule]:
        """Those that look at classes."""
        found = self._enabled(left_out() | names_but_of_class_rules())
        return spared_by_collector([rule for rule in found if isinstance(rule, ClassRule)])

    def of_event(self, event: Event) -> list[Rule]:
        """Those that look at events of that type: most programs give no reason to load them."""
        kind = type(event)
        if kind not in self._of_events:
            unasked = names_but_of_event(kind) | (frozenset() if issubclass(kind, CodeRead) else BODY_RULES)
            self._of_events[kind] = spared_by_collector(self._enabled(left_out() | unasked))
        return self._of_events[kind]

    def _enabled(self, without: frozenset[str]) -> list[Rule]:
        found: list[Rule] = []
        for rule in all_rules(without):
            if rule_enabled(rule, self._settings):
                if rule not in self._made:
                    self._made[rule] = rule()
                found.append(self._made[rule])
        return found


def left_out() -> frozenset[str]:
    """The names of the rules that are not run here."""
    return _LEFT_OUT | (body_rule_names() - BODY_RULES)


def describe(what: str, error: Exception) -> str:
    """A failure of ours in one line."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())[:200]
    place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    return (
        f"jaxlint {__version__} failed at {what} and goes on without it"
        f" ({type(error).__name__} at {place}: {text}); please report this"
    )
