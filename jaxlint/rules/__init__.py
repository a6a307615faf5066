"""Rules: one file each, found by its name, with its page as docstring. Nothing else names a rule.

Class rules look at a `PytreeClass`, event rules at what is done to an instance, body rules at a function; what two or
three of them share is in `analyses`. Imports `infer` and what is below; problems come out.
"""

from __future__ import annotations

import importlib
import os
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from jaxlint.rules.base import Rule

if TYPE_CHECKING:
    from jaxlint.infer.evaluating.events import Event

#: The files that hold none.
_NO_RULES = ("__init__.py", "base.py", "plugins.py")
#: The class statement of a rule, and what kinds of rules it is. What begins with a newline is found the fastest.
_RULE = re.compile(rb"\nclass \w+\((?P<kinds>\w*Rule(?:, \w+)*)\):\n")
#: The types of the events that a rule looks at, where it spells them out.
_EVENTS = re.compile(rb"\n    events = \((?P<events>[\w, ]+)\)\n")


def rule_names() -> list[str]:
    """The names of all rules, sorted; none of them is imported."""
    files = [file for folder in __path__ for file in os.listdir(folder) if file.endswith(".py")]
    return sorted(file[: -len(".py")].replace("_", "-") for file in files if file not in _NO_RULES)


class _Said(NamedTuple):
    """What the file of a rule says of it: the kinds of rules, and which events they look at, if it is spelled out."""

    kinds: list[bytes]
    events: list[bytes]


@cache
def _said() -> dict[str, _Said]:
    """What the files of the rules say of them, by the names of the rules; none of them is imported."""
    found: dict[str, _Said] = {}
    for name in rule_names():
        for folder in __path__:
            path = os.path.join(folder, f"{name.replace('-', '_')}.py")
            with open(path, "rb") as file:
                text = file.read().replace(b"\r", b"")
            kinds = [match["kinds"] for match in _RULE.finditer(text)]
            looks = any(b"EventRule" in one for one in kinds)
            found[name] = _Said(kinds, [match["events"] for match in _EVENTS.finditer(text)] if looks else [])
    return found


def body_rule_names() -> frozenset[str]:
    """The names of the rules that look at nothing but bodies; none of them is imported."""
    return frozenset(name for name, said in _said().items() if said.kinds in ([b"BodyRule"], [b"NodeRule"]))


def names_but_of_class_rules() -> frozenset[str]:
    """The names of the rules that do not look at classes; none of them is imported."""
    return frozenset(
        name for name, said in _said().items() if len(said.kinds) == 1 and b"ClassRule" not in said.kinds[0]
    )


def names_but_of_event(event: type[Event]) -> frozenset[str]:
    """The names of the event rules that do not look at events of that type; none of them is imported."""
    types = {one.__name__.encode() for one in event.__mro__}
    return frozenset(
        name
        for name, said in _said().items()
        if len(said.kinds) == len(said.events) == 1 and types.isdisjoint(said.events[0].replace(b" ", b"").split(b","))
    )


@cache
def all_rules(without: frozenset[str] = frozenset()) -> tuple[type[Rule], ...]:
    """Every rule, sorted by code, but for those with the names in `without`, which are not even imported."""
    found: list[type[Rule]] = []
    for name in rule_names():
        if name in without:
            continue
        found += _rules_in(name)
    return tuple(sorted(found, key=lambda rule: rule.code))


def _rules_in(name: str) -> list[type[Rule]]:
    """The rules in the file that is called like `name`."""
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == module.__name__
    ]


def rule_named(name: str) -> type[Rule]:
    """The rule of that name; no other one is imported for it."""
    return next(rule for rule in _rules_in(name) if rule.name == name)


@cache
def rules_by_selector() -> dict[str, type[Rule]]:
    """Every rule by its code and by its name."""
    return {key: rule for rule in all_rules() for key in (rule.code, rule.name)}
