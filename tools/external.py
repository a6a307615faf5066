"""Programs that are not part of the project, for what is built and tested with them."""

from __future__ import annotations

import subprocess
from pathlib import Path


class Unavailable(Exception):
    """What is needed cannot be had here; the text says why."""


def run(*command: str, cwd: Path) -> None:
    """Run a command in a folder. Raises `Unavailable` if it cannot be run, fails or takes a quarter of an hour."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=900)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(command)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
