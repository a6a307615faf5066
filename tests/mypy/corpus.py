"""The corpus as files."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path

from tests.mypy.cases.programs import Program, programs
from tests.mypy.run import CONFIG

PROGRAMS = {program.name: program for program in programs()}


def few() -> list[Program]:
    """One program of each case, of another framework from case to case."""
    by_case: dict[str, list[Program]] = {}
    for program in PROGRAMS.values():
        by_case.setdefault(program.name.rpartition("__")[0], []).append(program)
    return [some[zlib.crc32(name.encode()) % len(some)] for name, some in by_case.items()]


def write(some: Iterable[Program], folder: Path) -> None:
    """Write programs and the configuration."""
    (folder / "mypy.ini").write_text(CONFIG)
    for program in some:
        (folder / f"{program.name}.py").write_text(program.text)
