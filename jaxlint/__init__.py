"""jaxlint: the linter that knows what a pytree is.

`check_paths` and `check_source` give the findings of files and of a text.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # `typing` takes as long to import as Python takes to start

if TYPE_CHECKING:
    from jaxlint.finding import Finding
    from jaxlint.linter.engine import check_paths, check_source
    from jaxlint.linter.result import Result

__all__ = ["Finding", "Result", "__version__", "check_paths", "check_source"]


def __getattr__(name: str) -> object:
    """Import the public names on first use: `jaxlint --version` needs none of them."""
    if name in ("check_paths", "check_source"):
        from jaxlint.linter import engine

        return getattr(engine, name)
    if name == "Finding":
        from jaxlint.finding import Finding

        return Finding
    if name == "Result":
        from jaxlint.linter.result import Result

        return Result
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
