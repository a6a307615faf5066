"""What the code that is checked runs with, and which names of its own stand for known ones."""

from __future__ import annotations

import msgspec


class ExtraField(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A field function of one's own: which known one it is `like`, and whether it always makes a static field."""

    like: str
    static: bool | None = None


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The versions of Python and jax, like (3, 11) and (0, 4, 35), None where nobody says; and names of the user's own.

    `extra_decorators`, `extra_bases` and `extra_fields` map dotted names to the known names they stand for.
    """

    target_version: tuple[int, ...] | None = None
    target_jax: tuple[int, ...] | None = None
    extra_decorators: dict[str, str] = {}
    extra_bases: dict[str, str] = {}
    extra_fields: dict[str, ExtraField] = {}

    def python_before(self, *version: int) -> bool | None:
        """Whether the code runs on a Python older than `version`; None if nobody says."""
        return None if self.target_version is None else self.target_version < version

    def jax_before(self, *version: int) -> bool | None:
        """Whether the code runs with a jax older than `version`; None if nobody says."""
        return None if self.target_jax is None else self.target_jax < version
