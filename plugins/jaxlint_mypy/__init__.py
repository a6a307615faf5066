"""A mypy plugin for JAX pytree dataclasses: `plugins = ["jaxlint_mypy"]`."""

from __future__ import annotations

import mypy.types  # noqa: F401  # first of mypy's modules, or its own import cycle breaks
from mypy.plugin import Plugin

from jaxlint_mypy.plugin import JaxlintPlugin

__all__ = ["plugin"]


def plugin(version: str) -> type[Plugin]:
    """The entry point that mypy calls with its own version."""
    return JaxlintPlugin
