"""Running mypy as its users do, with the plugin or without."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests import forked
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
_REPORT = re.compile(r"^(?P<path>[^:\n]+):(?P<row>\d+): (?P<kind>error|note): (?P<text>.*)$", re.MULTILINE)

CONFIG = """[mypy]
plugins = jaxlint_mypy
ignore_missing_imports = True
check_untyped_defs = True
"""
#: The same with a jax and a flax of a few lines, which mypy reads at once.
SMALL_CONFIG = f"{CONFIG}mypy_path = {Path(__file__).with_name('small')}\n"


@dataclass(frozen=True)
class Report:
    """One line of mypy's output."""

    path: str
    row: int
    kind: str
    text: str


def environment() -> dict[str, str]:
    """The environment of a mypy that finds the plugin."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "plugins"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path.rstrip(os.pathsep), "MYPY_FORCE_COLOR": "0", "NO_COLOR": "1"}


def mypy(folder: Path, *arguments: str, command: tuple[str, ...] = ("mypy",)) -> str:
    """What mypy prints; raises if it fails."""
    if command == ("mypy",):
        done = forked.run("mypy", arguments, folder, environment())
    else:
        start = [sys.executable, "-m", *command, *arguments]
        done = subprocess.run(start, cwd=folder, env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def reports(output: str) -> list[Report]:
    """The lines of an output that report something."""
    return [Report(m["path"], int(m["row"]), m["kind"], m["text"]) for m in _REPORT.finditer(output)]
