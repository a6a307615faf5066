"""What holds for some versions of Python or of a library only, and the versions that code runs with.

A framework declares its facts beside itself, in `frameworks/`; what the dataclass machinery does is declared in
`frameworks/plain.py`. The model, messages, pages and fixtures read them there.
"""

from __future__ import annotations

import re
from typing import TypeAlias

import msgspec

#: The numbers of a version without zeros at the end, like (0, 4, 35).
Version: TypeAlias = tuple[int, ...]

_BOUND = re.compile(r"(?P<op>==|>=|<=|~=|!=|>|<|)\s*(?P<version>[0-9]+(?:\.[0-9]+)*)(?P<wild>\.\*)?[\w.+]*")


def version(text: str) -> Version:
    """The numbers that a version begins with."""
    match = re.match(r"[0-9]+(?:\.[0-9]+)*", text)
    numbers = [int(part) for part in match[0].split(".")] if match else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def dotted(numbers: Version) -> str:
    """A version as it is written."""
    return ".".join(map(str, numbers if len(numbers) > 1 else (*numbers, 0)))


def _bound(behind: str, at: str, numbers: Version) -> str:
    """A bound as it is written: behind a version, which ends with a zero that versions do not have, or at it."""
    return f"{behind}{dotted(numbers[:-1])}" if numbers[-1:] == (0,) else f"{at}{dotted(numbers)}"


class Fact(msgspec.Struct, frozen=True):
    """What the distribution `of` does from the version `since` on, and no more from `until` on.

    Where it shows in an error, `now` is what is raised while the fact holds, and `otherwise` what may be raised else,
    each as `Type: beginning of the text`; "…" stands for anything.
    """

    name: str
    of: str
    #: One sentence about the distribution without a final stop.
    says: str
    since: Version = ()
    until: Version = ()
    now: str = ""
    otherwise: tuple[str, ...] = ()

    @property
    def when(self) -> str:
        """Where it holds: `from jax 0.12 on`."""
        bounds = [f"from {self._title} {dotted(self.since)} on"] if self.since else []
        return " ".join([*bounds, *([f"before {self._title} {dotted(self.until)}"] if self.until else [])])

    @property
    def not_when(self) -> str:
        """Where it does not hold."""
        bounds = [self.before] if self.since else []
        return " and ".join([*bounds, *([f"from {self._title} {dotted(self.until)} on"] if self.until else [])])

    @property
    def before(self) -> str:
        """Where it does not hold yet: `before jax 0.12`."""
        return f"before {self._title} {dotted(self.since)}"

    @property
    def _title(self) -> str:
        return "Python" if self.of == "python" else self.of

    def holds_in(self, known: Version) -> bool:
        """Whether it holds for one version."""
        return known >= self.since and (not self.until or known < self.until)


class VersionRange(msgspec.Struct, frozen=True):
    """Versions from `least` on, and before `below` where that is not None."""

    least: Version = ()
    below: Version | None = None

    @classmethod
    def exactly(cls, known: Version) -> VersionRange:
        """One version."""
        return cls(known, (*known, 0))

    @classmethod
    def read(cls, text: str) -> VersionRange | None:
        """`0.4.35`, or bounds as in `>=0.4.35, <0.7`; None if that is neither."""
        found = cls()
        for part in filter(None, map(str.strip, text.split(","))):
            match = _BOUND.fullmatch(part)
            if match is None:
                return None
            found = found._narrowed(match["op"], version(match["version"]), match)
        return found if text.strip() else None

    def _narrowed(self, op: str, known: Version, match: re.Match[str]) -> VersionRange:
        least, below = self.least, self.below
        after: Version = (*known, 0)
        if match["wild"] or op == "~=":
            prefix = [int(part) for part in match["version"].split(".")]
            prefix = prefix if match["wild"] else prefix[:-1]
            after = (*prefix[:-1], prefix[-1] + 1) if prefix else after
        if op in ("==", "", "~=", ">=", ">"):
            least = max(least, (*known, 0) if op == ">" else known)
        if op in ("==", "", "~=", "<=", "<") and not (op == "" and match["wild"]):
            bound = known if op == "<" else after
            below = bound if below is None else min(below, bound)
        return VersionRange(least, below)

    def narrowed_by(self, other: VersionRange) -> VersionRange:
        """The versions that are in both."""
        uppers = [bound for bound in (self.below, other.below) if bound is not None]
        return VersionRange(max(self.least, other.least), min(uppers, default=None))

    @property
    def is_empty(self) -> bool:
        """Whether there is no such version."""
        return self.below is not None and self.below <= self.least

    @property
    def is_exact(self) -> bool:
        """Whether it is one version."""
        return self.below == (*self.least, 0)

    def holds(self, fact: Fact) -> bool | None:
        """Whether a fact holds for all of the versions; None if for some of them only."""
        begins = self.least >= fact.since
        ends = bool(fact.until) and (self.below is None or self.below > fact.until)
        if begins and not ends:
            return True
        never = (self.below is not None and self.below <= fact.since) or (fact.until and self.least >= fact.until)
        return False if never else None

    def __str__(self) -> str:
        if self.is_exact:
            return dotted(self.least)
        lower = _bound(">", ">=", self.least) if self.least else ""
        upper = "" if self.below is None else _bound("<=", "<", self.below)
        return ",".join(filter(None, [lower, upper])) or "any"
