"""What ruff would do to our comments: RUF100 and RUF102 remove codes that it does not know, unless they are listed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from jaxlint.syntax.paths import ancestors
from jaxlint.syntax.regular import read_regular

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

_NAMES = (".ruff.toml", "ruff.toml", "pyproject.toml")
#: unused-noqa and invalid-rule-code.
_REMOVING = ("RUF100", "RUF102")
_MAX_EXTENDED = 10


def removing_config(directory: str) -> str | None:
    """The configuration for `directory` with which ruff removes `# noqa: JAX401`, if it is so."""
    for above in ancestors(os.path.abspath(directory)):
        for name in _NAMES:
            path = os.path.join(above, name)
            settings = _settings(path)
            if settings is not None:
                return path if _removes(settings) else None
    return None


def _removes(settings: Mapping[str, Any]) -> bool:
    """Whether these settings select a rule that removes our codes."""
    if any(code and "JAX".startswith(code) for code in _words(settings, "external")):
        return False
    selected = [*_words(settings, "select"), *_words(settings, "extend-select")]
    ignored = [*_words(settings, "ignore"), *_words(settings, "extend-ignore")]
    return any(_specificity(rule, selected) > _specificity(rule, ignored) for rule in _REMOVING)


def _specificity(rule: str, selectors: Iterable[str]) -> int:
    return max((0 if s == "ALL" else len(s) for s in selectors if s == "ALL" or (s and rule.startswith(s))), default=-1)


def _words(settings: Mapping[str, Any], key: str) -> list[str]:
    """The strings behind a key of the linter, which older configurations have at the top."""
    lint = settings.get("lint")
    found: list[str] = []
    for table in (settings, lint if isinstance(lint, dict) else {}):
        value = table.get(key)
        if isinstance(value, list):
            found += [word for word in value if isinstance(word, str)]
    return found


def _settings(path: str, depth: int = 0) -> dict[str, Any] | None:
    """ruff's settings in a file, over those that it extends; None if it holds none or cannot be read."""
    try:
        settings: Any = tomllib.loads(read_regular(path).decode())
    except (OSError, ValueError, RecursionError):
        return None
    if os.path.basename(path) == "pyproject.toml":
        tool = settings.get("tool")
        settings = tool.get("ruff") if isinstance(tool, dict) else None
    if not isinstance(settings, dict):
        return None
    extended = settings.get("extend")
    if not isinstance(extended, str) or depth == _MAX_EXTENDED:
        return settings
    below = _settings(os.path.join(os.path.dirname(path), os.path.expanduser(extended)), depth + 1) or {}
    lints = [part for part in (below.get("lint"), settings.get("lint")) if isinstance(part, dict)]
    return {**below, **settings, "lint": {key: value for part in lints for key, value in part.items()}}
