"""`jaxlint check --watch`: the same command again, in a process of its own, whenever a file changes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from watchfiles import Change

#: Set in the processes that the watching one starts, which get the same arguments.
_WATCHED = "JAXLINT_WATCHED"
#: What is checked, and what says how.
_TELLING = (".py", ".pyi", ".toml", ".gitignore")
#: How often it is asked what has changed.
_ASKED_EVERY_MS = 200

option = click.option("-w", "--watch", is_flag=True, help="Check again whenever a file changes, until Ctrl-C.")


def is_watched() -> bool:
    """Whether this process is one of those that the watching one starts."""
    return _WATCHED in os.environ


def run(paths: Sequence[str]) -> int:
    """Check now and after each change of what lies below `paths`; returns the last exit code when it is interrupted.

    Raises `click.UsageError` where a path does not exist, or the library that watches files (watchfiles 1.3) is not
    installed.
    """
    try:
        from watchfiles import watch
    except ImportError:
        raise click.UsageError('--watch needs watchfiles: pip install "jaxlint-pytree[watch]".') from None
    missing = next((path for path in paths if not os.path.exists(path)), None)
    if missing is not None:
        raise click.UsageError(f"{missing} does not exist: --watch needs files and folders that do.")
    code: int | None = None
    try:
        # the first answer is that nothing has changed yet: from then on nothing is missed, not even during a check
        for changes in watch(*paths, watch_filter=_tells, yield_on_timeout=True, rust_timeout=_ASKED_EVERY_MS):
            if changes or code is None:
                code = _check()
    except KeyboardInterrupt:
        pass
    return code or 0


def _check() -> int:
    if sys.stdout.isatty():
        click.clear()
    command = [sys.executable, "-m", "jaxlint", *sys.argv[1:]]
    import subprocess

    code = subprocess.run(command, env={**os.environ, _WATCHED: "1"}, check=False).returncode
    click.echo("jaxlint: watching for changes; Ctrl-C ends it", err=True)
    return code


def _tells(change: Change, path: str) -> bool:
    """Whether the change of a file may change what is found."""
    return path.endswith(_TELLING) and ".jaxlint_cache" not in path
