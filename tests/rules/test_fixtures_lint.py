"""jaxlint reports every marked line of every fixture, in every framework's spelling, and no other line."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import jaxlint
from jaxlint.config.settings import Settings
from jaxlint.finding import Finding
from jaxlint.project.environment import site_packages
from tests.needs import needs
from tests.oracle import cases
from tests.oracle.cases import Mark, Program
from tests.oracle.chosen import chosen
from tests.oracle.frameworks import MAIN
from tests.oracle.linting import complaints, counted, lint, linted
from tests.oracle.versions import here, target_versions
from tests.rules.test_fixtures_run import readings

PROGRAMS = cases.programs()
#: Those of which messages, places and fixes are looked at, too.
FIRST = {program.id for program in cases.rotated(PROGRAMS)}

#: Lines (of expanded programs) that are known to be missed, and known to be reported in error.
DEBT = {"expect-missing": 0, "false-alarm": 0}


#: How messages write exceptions.
_ERROR = re.compile(r"\b([A-Z]\w*(?:Error|Exception))\b")
#: Exceptions that a header may call by the name of their base class.
_SUBCLASSES = {"AttributeError": frozenset({"FrozenInstanceError"})}
#: Programs that raise something else first, where the field that is no field is read.
READS_BEFORE = "replace-unknown-field/read_as_none/"


@pytest.fixture(scope="module")
def findings(
    request: pytest.FixtureRequest, stored: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Finding]]:
    """The findings of the programs that are asked for; what other tests ask for as well is linted once."""
    asked = chosen(request)
    first = [program for program in asked if program.id in FIRST]
    others = [program for program in asked if program.id not in FIRST]
    found = lint(others, tmp_path_factory.mktemp("linted"), target_versions=target_versions(here()))
    return found | linted(first, stored)


def parameters() -> Iterator[Any]:
    """The programs of each case: that of one framework, and those of the others."""
    for name, (first, others) in cases.first_and_others(PROGRAMS).items():
        yield pytest.param([first], id=name)
        if others:
            yield pytest.param(others, id=f"{name}/others", marks=pytest.mark.frameworks)


@pytest.mark.parametrize("of_case", list(parameters()))
def test_reports_the_marked_lines(of_case: list[Program], findings: dict[str, list[Finding]]) -> None:
    """In each program of a case, which differ in the framework that they are written for."""
    wrong: list[str] = []
    for program in (replace(one, column=MAIN) for one in of_case):
        program.check()
        found = counted(program, findings.get(program.id, []))
        if differences := complaints(program, found):
            wrong += [f"=== {program.id}", *differences, described(program, found)]
    assert not wrong, "\n".join(wrong)


def described(program: Program, found: list[Finding]) -> str:
    """What was reported of a program, and the program."""
    source = "\n".join(
        f"--- {path}\n" + "\n".join(f"{row:3} {line}" for row, line in enumerate(text.splitlines(), 1))
        for path, text in program.files.items()
    )
    said = "\n".join(f"{f.path}:{f.row}:{f.column}: {f.code} {f.message}" for f in found)
    return f"\nreported:\n{said or 'nothing'}\n{source}\n"


def test_messages_name_the_error_that_is_raised(
    request: pytest.FixtureRequest, findings: dict[str, list[Finding]]
) -> None:
    """A message that names exceptions names the one that the run shows (`tests/rules/test_fixtures_run.py`)."""
    wrong, raising, named = [], set[str](), set[str]()
    for program in (replace(one, column=MAIN) for one in PROGRAMS if one.id in findings and one.is_well_formed):
        raised = program.consequence.raises
        case, found = f"{program.rule}/{program.case}", findings[program.id]
        raising |= {case} if raised else set()
        texts = [set(_ERROR.findall(finding.message)) for finding in found]
        if raised is None or len(found) != 1 or not texts[0] or program.id.startswith(READS_BEFORE):
            continue
        named.add(case)
        kinds = {reading.type for reading in readings(raised, program.versions)}
        if not texts[0] & kinds.union(*(_SUBCLASSES.get(kind, ()) for kind in kinds)):
            wrong.append(f"{program.id} raises {raised.type}: {found[0].message}")
    assert not wrong, "\n".join(wrong)
    assert len(named) > 0.5 * len(raising) or request.config.option.keyword


def test_enough_is_linted(request: pytest.FixtureRequest, findings: dict[str, list[Finding]]) -> None:
    """The programs were really linted: most of the bad ones have findings, of every core rule."""
    if request.config.option.keyword:
        pytest.skip("-k has left out programs")
    bad = {program.id for program in chosen(request) if any(mark.kind == "expect" for mark in program.marks)}
    reported = {name for name, found in findings.items() if found}
    assert len(bad) > 500
    assert len(bad & reported) > 0.9 * len(bad)
    codes = Counter(finding.code for found in findings.values() for finding in found)
    assert set(codes) >= {"JAX201", "JAX202", "JAX301", "JAX401", "JAX402"}, codes


@pytest.mark.comparisons
def test_an_environment_takes_nothing_away(tmp_path: Path, is_thorough: bool) -> None:
    """What is known of a library by its names is known where its source can be read, too: in a third of the cases."""
    needs("flax")
    assert site_packages(sys.executable)
    some = cases.one_of_each(p for p in PROGRAMS if p.environment == MAIN)
    for program in some if is_thorough else some[::3]:
        program.write(tmp_path)
    without, with_it = (
        [(f.path, f.row, f.column, f.code, f.message) for f in jaxlint.check_paths([str(tmp_path)], settings).findings]
        for settings in (Settings(select=("ALL",)), Settings(select=("ALL",), python=sys.executable))
    )
    assert len(without) > (300 if is_thorough else 100)
    assert with_it == without


def test_debt() -> None:
    """What is known to be wrong is counted and said; it must not grow unnoticed."""
    debts = [(program.id, mark) for program in PROGRAMS for mark in program.marks if mark.kind in DEBT]
    for name, mark in debts:
        print(f"{name}/{mark.path}:{mark.row}: {mark.kind} {'|'.join(sorted(mark.codes))}")
    lines = {("/".join(name.split("/")[:2]), mark.path, mark.row, mark.kind) for name, mark in debts}
    assert {kind: sum(line[-1] == kind for line in lines) for kind in DEBT} == DEBT  # in whatever framework


def mark(kind: str, row: int, *codes: str) -> Mark:
    """A mark in `main.py`."""
    return Mark("main.py", row, kind, frozenset(codes))


@pytest.mark.parametrize(
    ("marks", "found", "complaints"),
    [
        ([mark("expect", 1, "JAX201")], [("main.py", 1, "JAX201")], 0),
        ([mark("expect", 1, "JAX201")], [], 1),
        ([mark("expect", 1, "JAX201")], [("main.py", 2, "JAX201")], 2),
        ([mark("expect", 1, "JAX201")], [("main.py", 1, "JAX202")], 2),
        ([mark("expect", 1, "JAX201", "JAX202")], [("main.py", 1, "JAX202")], 0),
        ([mark("expect", 1, "JAX201"), mark("maybe", 2, "JAX201")], [("main.py", 2, "JAX201")], 0),
        (
            [mark("expect", 1, "JAX201"), mark("maybe", 2, "JAX201")],
            [("main.py", 1, "JAX201"), ("main.py", 2, "JAX201")],
            1,
        ),
        ([mark("maybe", 2, "JAX201")], [("main.py", 2, "JAX201")], 1),
        ([mark("expect-missing", 1, "JAX201")], [], 0),
        ([mark("expect-missing", 1, "JAX201")], [("main.py", 1, "JAX201")], 1),
        ([mark("false-alarm", 1, "JAX201")], [("main.py", 1, "JAX201")], 0),
        ([mark("false-alarm", 1, "JAX201")], [], 1),
        ([], [("main.py", 1, "JAX201")], 1),
    ],
)
def test_comparison_has_teeth(marks: list[Mark], found: list[tuple[str, int, str]], complaints: int) -> None:
    assert len(cases.differences(marks, found)) == complaints
