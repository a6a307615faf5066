"""Settings: what a run is to do, and which rules run in which file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from jaxlint.finding import Applicability, Confidence
from jaxlint.project.files import Patterns, matches
from jaxlint.pytrees.target import Target

if TYPE_CHECKING:
    from jaxlint.rules.base import Rule

_CODE = re.compile(r"([A-Z]+)([0-9]{0,3})")
#: How specific a whole group of rules is: as much as the prefix `JAX4`.
_GROUP_SPECIFICITY = 4
_EXACT = 6
_UNREADABLE = "JAX001"


class PerFileIgnore(msgspec.Struct, frozen=True):
    """The rules to leave out in the files that a pattern, relative to the directory `base`, means."""

    base: str
    pattern: str
    selectors: tuple[str, ...]


class Settings(Target, frozen=True):
    """What a run is to do. Paths are absolute; `select` is None where the default rules are meant."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[PerFileIgnore, ...] = ()
    exclude: tuple[Patterns, ...] = ()
    src: tuple[str, ...] = ()
    python: str | None = None
    min_confidence: Confidence = Confidence.MEDIUM
    preview: bool = False
    fix: bool = False
    unsafe_fixes: bool = False
    fixable: tuple[str, ...] = ("ALL",)
    unfixable: tuple[str, ...] = ()
    extend_safe_fixes: tuple[str, ...] = ()
    extend_unsafe_fixes: tuple[str, ...] = ()
    baseline: str | None = None
    plugins: tuple[str, ...] = ()


def rule_enabled(rule: type[Rule], settings: Settings, path: str | None = None) -> bool:
    """Whether `rule` runs (in the file `path`): the most specific selector decides, `ignore` before `select`.

    That a file could not be checked (JAX001) is always reported, unless just this rule is ignored.
    """
    selected = 0 if rule.enabled else -1
    if settings.select is not None:
        selected = specificity(rule, settings.select)
    selected = max(selected, specificity(rule, settings.extend_select))
    if rule.preview and not settings.preview and selected < _EXACT:
        return False
    if rule.code == _UNREADABLE:
        selected = _EXACT - 1
    if selected <= specificity(rule, settings.ignore):
        return False
    least = _EXACT if rule.code == _UNREADABLE else 0
    return path is None or not any(
        specificity(rule, one.selectors) >= least and matches(one.pattern, one.base, path)
        for one in settings.per_file_ignores
    )


class EnabledRules:
    """Those of some rules that settings enable: everywhere (`rules`, in the given order), or in a file."""

    def __init__(self, rules: Iterable[type[Rule]], settings: Settings) -> None:
        self.rules = [rule for rule in rules if rule_enabled(rule, settings)]
        self._everywhere = frozenset(self.rules)
        self._codes = frozenset(rule.code for rule in self.rules)
        self._settings = settings

    def at(self, path: str) -> frozenset[type[Rule]]:
        """The rules that run in the file `path`."""
        if not self._settings.per_file_ignores:
            return self._everywhere
        return frozenset(rule for rule in self.rules if rule_enabled(rule, self._settings, path))

    def codes_at(self, path: str) -> frozenset[str]:
        """The codes of the rules that run in the file `path`."""
        return frozenset(rule.code for rule in self.at(path)) if self._settings.per_file_ignores else self._codes


class FixSettings:
    """Which fixes settings want to be offered, and what they count as."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def applicability(self, rule: type[Rule], own: Applicability) -> Applicability | None:
        """What a fix of a rule counts as that calls it `own`; None if there is to be none."""
        settings = self._settings
        wanted = specificity(rule, settings.fixable)
        if wanted < 0 or specificity(rule, settings.unfixable) >= wanted:
            return None
        safe, unsafe = (
            specificity(rule, words) for words in (settings.extend_safe_fixes, settings.extend_unsafe_fixes)
        )
        if own is Applicability.SAFE and unsafe >= max(safe, 0):
            return Applicability.UNSAFE
        if own is Applicability.UNSAFE and safe > unsafe:
            return Applicability.SAFE
        return own


def is_sure_enough(confidence: Confidence, settings: Settings) -> bool:
    """Whether the settings ask for findings that are no surer than that."""
    order = tuple(Confidence)
    return order.index(confidence) <= order.index(settings.min_confidence)


def specificity(rule: type[Rule], selectors: Iterable[str]) -> int:
    """How exactly the best of `selectors` means `rule`: 0 for `ALL`, 6 for its code or name, -1 for none.

    A prefix of its code counts 3 for the letters, and one for each digit.
    """
    words = _lower(tuple(selectors))
    if not words:
        return -1
    if rule.name in words:
        return _EXACT
    best = 0 if "all" in words else -1
    if rule.group.lower() in words:
        best = _GROUP_SPECIFICITY
    own = _CODE.fullmatch(rule.code)
    if own is None:
        return best
    prefixes = (number for number in range(len(own[2]), -1, -1) if (own[1] + own[2][:number]).lower() in words)
    return max(best, 3 + next(prefixes, -4))


@lru_cache
def _lower(words: tuple[str, ...]) -> frozenset[str]:
    """Words in lower case: a run asks the same selectors about each rule, again and again."""
    return frozenset(word.lower() for word in words)
