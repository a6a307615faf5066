"""What a client may set: in `initializationOptions`, or in the section `jaxlint` of its configuration."""

from __future__ import annotations

from typing import Any

import msgspec


class Options(msgspec.Struct, frozen=True, rename="camel"):
    """The settings of a client. Keys that are not known are left to others."""

    #: Whether `leaf`, `static` or `ignored` is shown after each field.
    inlay_hints: bool = True
    #: Whether a line above each pytree class says what it is made of.
    code_lens: bool = True
    #: Whether files that are not open are checked as well, for clients that pull.
    workspace_diagnostics: bool = False
    #: Whether `jaxlint.tree` shows its drawing in a message, besides returning it.
    tree_in_message: bool = False
    #: A configuration file to use for all files.
    configuration: str | None = None
    #: Settings as in `[tool.jaxlint]`, which count as options of the command line.
    settings: dict[str, Any] = {}


def read_options(value: object) -> Options:
    """The options in what a client sends. Raises `msgspec.ValidationError` for a value of the wrong type."""
    if isinstance(value, dict) and isinstance(value.get("jaxlint"), dict):
        value = value["jaxlint"]
    return msgspec.convert(
        {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else {}, Options
    )
