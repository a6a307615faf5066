"""The rules: one module each, found by their file name. Nothing else has to be told of a new rule."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from jaxlint.rules.base import Rule


@cache
def all_rules(without: frozenset[str] = frozenset()) -> tuple[type[Rule], ...]:
    """Every rule, sorted by code, but for those with the names in `without`, which are not even imported."""
    found: list[type[Rule]] = []
    for info in pkgutil.iter_modules(__path__):
        if info.name == "base" or info.name.replace("_", "-") in without:
            continue
        module = importlib.import_module(f"{__name__}.{info.name}")
        found += [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == module.__name__
        ]
    return tuple(sorted(found, key=lambda rule: rule.code))


@cache
def rules_by_selector() -> dict[str, type[Rule]]:
    """Every rule by its code and by its name."""
    return {key: rule for rule in all_rules() for key in (rule.code, rule.name)}
