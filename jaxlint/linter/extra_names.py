"""The user's own names that stand for known ones (`extra-decorators` and kin)."""

from __future__ import annotations

from collections.abc import Mapping

from jaxlint.config.layers import unknown_target
from jaxlint.config.settings import Settings
from jaxlint.errors import UserError


def extra_names(settings: Settings) -> dict[str, Mapping[str, str]]:
    """What the user's own names stand for, by the tables that say so."""
    return {
        "extra-decorators": settings.extra_decorators,
        "extra-bases": settings.extra_bases,
        "extra-fields": {name: field.like for name, field in settings.extra_fields.items()},
    }


def check_extra_names(settings: Settings) -> None:
    """Raise `UserError` if an extra name is said to stand for something that jaxlint does not know."""
    for key, names in extra_names(settings).items():
        for name, target in names.items():
            problem = unknown_target(key, name, target)
            if problem is not None:
                raise UserError(f"{key}: {problem}")
