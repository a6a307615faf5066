"""The corpus as files."""

from __future__ import annotations

from pathlib import Path

from tests.mypy.cases import programs
from tests.mypy.run import CONFIG

PROGRAMS = {program.name: program for program in programs()}


def write(folder: Path) -> None:
    """Write all programs and the configuration."""
    (folder / "mypy.ini").write_text(CONFIG)
    for program in PROGRAMS.values():
        (folder / f"{program.name}.py").write_text(program.text)
