"""jaxlint: the linter that knows what a pytree is.

`check_paths` and `check_source` give the findings of files and of a text; `fix_paths` and `fix_source` fix them.
"""

from __future__ import annotations

from jaxlint.cache.version import __version__

TYPE_CHECKING = False  # `typing` takes as long to import as Python takes to start

if TYPE_CHECKING:
    from jaxlint.finding import Finding
    from jaxlint.fixes.running import FixedFiles, fix_paths, fix_source
    from jaxlint.linter.engine import check_paths, check_source
    from jaxlint.linter.provider import PytreeProvider
    from jaxlint.linter.result import Result

__all__ = [
    "Finding",
    "FixedFiles",
    "PytreeProvider",
    "Result",
    "__version__",
    "check_paths",
    "check_source",
    "fix_paths",
    "fix_source",
]

#: Where the public names are.
_MODULES = {
    "Finding": "jaxlint.finding",
    "FixedFiles": "jaxlint.fixes.running",
    "PytreeProvider": "jaxlint.linter.provider",
    "Result": "jaxlint.linter.result",
    "check_paths": "jaxlint.linter.engine",
    "check_source": "jaxlint.linter.engine",
    "fix_paths": "jaxlint.fixes.running",
    "fix_source": "jaxlint.fixes.running",
}


def __getattr__(name: str) -> object:
    """Import the public names on first use: `jaxlint --version` needs none of them."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)
