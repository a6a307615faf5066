"""The corpus: what is reported on marked lines, and that nothing else is; in one framework each, and in all others."""

from __future__ import annotations

import re

import pytest

from tests.mypy.cases.programs import REASONS, Program
from tests.mypy.corpus import PROGRAMS, few
from tests.mypy.run import Report
from tests.needs import needs

needs("flax")


def test_size() -> None:
    assert len(PROGRAMS) > 500
    assert sum(len(program.marks) for program in PROGRAMS.values()) > 500


FEW = {program.name for program in few()}
OTHERS = [pytest.param(name, marks=pytest.mark.comparisons) for name in PROGRAMS if name not in FEW]


@pytest.mark.parametrize("name", [*sorted(FEW), *OTHERS])
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
