"""The corpus: what is reported on marked lines, and that nothing else is."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.mypy.cases import REASONS, Program, programs
from tests.mypy.run import CONFIG, Report, mypy, reports

pytest.importorskip("flax")
PROGRAMS = {program.name: program for program in programs()}


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Report]]:
    """What one run of mypy over all programs reports, by program."""
    folder = tmp_path_factory.mktemp("corpus")
    write(folder)
    found: dict[str, list[Report]] = defaultdict(list)
    for report in reports(mypy(folder, ".")):
        if report.kind == "error" or "jaxlint" in report.text:
            found[Path(report.path).stem].append(report)
    return found


def write(folder: Path) -> None:
    (folder / "mypy.ini").write_text(CONFIG)
    for program in PROGRAMS.values():
        (folder / f"{program.name}.py").write_text(program.text)


def test_size() -> None:
    assert len(PROGRAMS) > 500
    assert sum(len(program.marks) for program in PROGRAMS.values()) > 500


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, reported: dict[str, list[Report]]) -> None:
    assert missing(PROGRAMS[name], reported[name]) == []
    assert unwanted(PROGRAMS[name], reported[name]) == []


def missing(program: Program, found: list[Report]) -> list[tuple[int, str]]:
    """The marks of a program that are not reported for the right reason."""
    return [
        (row, word)
        for row, word in program.marks.items()
        if not any(r.row == row and re.search(REASONS[word], r.text) for r in found)
    ]


def unwanted(program: Program, found: list[Report]) -> list[Report]:
    """The reports on lines that are correct."""
    return [report for report in found if report.row not in program.marks]
