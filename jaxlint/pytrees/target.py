"""What the code that is checked runs with, and which names of its own stand for known ones."""

from __future__ import annotations

import msgspec

from jaxlint.libraries.packages import DISTRIBUTION_OF
from jaxlint.pytrees.versions import Fact, VersionRange

#: The distributions whose versions are looked for: those that facts are about (`Fact.of`), and the frameworks.
DISTRIBUTIONS = frozenset(DISTRIBUTION_OF.values())
#: The versions of Python that are meant where nobody says which.
_ANY_PYTHON = VersionRange(least=(3, 10))


class ExtraField(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A field function of one's own: which known one it is `like`, and whether it always makes a static field."""

    like: str
    static: bool | None = None


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The versions of `python` and of distributions that the code runs with, and names of the user's own.

    Where nobody says, any Python that jaxlint knows is meant, and the newest of everything else. `extra_decorators`,
    `extra_bases` and `extra_fields` map dotted names to the known names they stand for.
    """

    target_versions: dict[str, VersionRange] = {}
    extra_decorators: dict[str, str] = {}
    extra_bases: dict[str, str] = {}
    extra_fields: dict[str, ExtraField] = {}

    def holds(self, fact: Fact) -> bool | None:
        """Whether a fact holds for the code; None if it does for some of the versions that it may run with only."""
        known = self.target_versions.get(fact.of, _ANY_PYTHON if fact.of == "python" else None)
        return not fact.until if known is None else known.holds(fact)
