"""Which rules run in mypy. They are loaded when they are needed."""

from __future__ import annotations

from functools import cached_property

from jaxlint.config.settings import Settings, rule_enabled
from jaxlint.rules import all_rules, body_rule_names, names_but_of_class_rules
from jaxlint.rules.base import ClassRule, Rule
from jaxlint_mypy.internals import kept

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

    @cached_property
    def of_classes(self) -> list[ClassRule]:
        """Those that look at classes."""
        known = all_rules(left_out() | names_but_of_class_rules())
        enabled = (rule() for rule in known if issubclass(rule, ClassRule) and rule_enabled(rule, self._settings))
        return kept(list(enabled))

    @cached_property
    def all(self) -> list[Rule]:
        """All of them, which are needed when the first event is noted: most programs give no reason to load them."""
        made: dict[type[Rule], Rule] = {type(rule): rule for rule in self.of_classes}
        enabled = (rule for rule in all_rules(left_out()) if rule_enabled(rule, self._settings))
        return kept([made.get(rule) or rule() for rule in enabled])


def left_out() -> frozenset[str]:
    """The names of the rules that are not run here."""
    return _LEFT_OUT | (body_rule_names() - BODY_RULES)
