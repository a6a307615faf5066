"""jaxlint reports every marked line of every fixture, in every framework's spelling, and no other line."""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

import jaxlint
from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence, Finding
from jaxlint.project.environment import site_packages
from jaxlint.rules import all_rules
from tests.oracle import cases
from tests.oracle.cases import Mark, Program
from tests.oracle.chosen import chosen
from tests.oracle.frameworks import MAIN
from tests.oracle.versions import here, target_versions
from tests.rules.test_fixtures_run import readings

PROGRAMS = cases.programs()

#: Lines (of expanded programs) that are known to be missed, and known to be reported in error.
DEBT = {"expect-missing": 0, "false-alarm": 0}


def linted_together(rule: str) -> tuple[str, ...]:
    """What is selected for the folder of a rule: the default rules, and the folder's own if it is none of them."""
    default = tuple(known.code for known in all_rules() if known.enabled)
    return default + tuple(known.code for known in all_rules() if known.name == rule and not known.enabled)


#: How messages write exceptions.
_ERROR = re.compile(r"\b([A-Z]\w*(?:Error|Exception))\b")
#: Exceptions that a header may call by the name of their base class.
_SUBCLASSES = {"AttributeError": frozenset({"FrozenInstanceError"})}
#: Programs that raise something else first, where the field that is no field is read.
READS_BEFORE = "replace-unknown-field/read_as_none/"


@pytest.fixture(scope="module")
def findings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finding]]:
    """The findings of the programs of the rules that are asked for, each program in a folder of its own.

    Their paths are made relative to the program. Each rule's folder is a project: subclasses of a library's class in
    one of them say nothing of the others.
    """
    root = tmp_path_factory.mktemp("linted").resolve()
    rules = {program.rule for program in chosen(request)}
    for program in PROGRAMS:
        if program.rule in rules and program.is_well_formed:
            program.write(root)
    found: dict[str, list[Finding]] = defaultdict(list)
    for rule in sorted(rules):
        settings = Settings(
            select=linted_together(rule), min_confidence=Confidence.LOW, target_versions=target_versions(here())
        )
        for finding in jaxlint.check_paths([str(root / rule)], settings).findings:
            _, case, framework, *rest = Path(finding.path).relative_to(root).parts
            found[f"{rule}/{case}/{framework}"].append(msgspec.structs.replace(finding, path="/".join(rest)))
    return dict(found)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)
def test_reports_the_marked_lines(program: Program, findings: dict[str, list[Finding]]) -> None:
    program = replace(program, column=MAIN)
    program.check()
    found = findings.get(program.id, [])
    if program.confidence != "low":
        found = [finding for finding in found if finding.confidence is not Confidence.LOW]
    wrong = cases.differences(program.marks, {(f.path, f.row, f.code) for f in found})
    source = "\n".join(
        f"--- {path}\n" + "\n".join(f"{row:3} {line}" for row, line in enumerate(text.splitlines(), 1))
        for path, text in program.files.items()
    )
    said = "\n".join(f"{f.path}:{f.row}:{f.column}: {f.code} {f.message}" for f in found)
    assert not wrong, "\n".join([*wrong, "", "reported:", said or "nothing", source])


def test_messages_name_the_error_that_is_raised(findings: dict[str, list[Finding]]) -> None:
    """A message that names exceptions names the one that the run shows (`tests/rules/test_fixtures_run.py`)."""
    wrong, named = [], 0
    for program in (replace(one, column=MAIN) for one in PROGRAMS if one.id in findings and one.is_well_formed):
        raised = program.consequence.raises
        found = findings[program.id]
        texts = [set(_ERROR.findall(finding.message)) for finding in found]
        if raised is None or len(found) != 1 or not texts[0] or program.id.startswith(READS_BEFORE):
            continue
        named += 1
        kinds = {reading.type for reading in readings(raised, program.versions)}
        if not texts[0] & kinds.union(*(_SUBCLASSES.get(kind, ()) for kind in kinds)):
            wrong.append(f"{program.id} raises {raised.type}: {found[0].message}")
    assert not wrong, "\n".join(wrong)
    assert named > 900 or len(findings) < 500


def test_enough_is_linted(findings: dict[str, list[Finding]]) -> None:
    """The programs were really linted: most of the bad ones have findings, of every core rule."""
    bad = {program.id for program in PROGRAMS if any(mark.kind == "expect" for mark in program.marks)}
    reported = {name for name, found in findings.items() if found}
    assert len(bad) > 500
    assert len(bad & reported) > 0.9 * len(bad)
    codes = Counter(finding.code for found in findings.values() for finding in found)
    assert set(codes) >= {"JAX201", "JAX202", "JAX301", "JAX401", "JAX402"}, codes


def test_an_environment_takes_nothing_away(tmp_path: Path) -> None:
    """What is known of a library by its names is known where its source can be read, too."""
    pytest.importorskip("flax")
    assert site_packages(sys.executable)
    for program in cases.one_of_each(p for p in PROGRAMS if p.environment == MAIN):
        program.write(tmp_path)
    without, with_it = (
        [(f.path, f.row, f.column, f.code, f.message) for f in jaxlint.check_paths([str(tmp_path)], settings).findings]
        for settings in (Settings(), Settings(python=sys.executable))
    )
    assert len(without) > 300
    assert with_it == without


def test_debt() -> None:
    """What is known to be wrong is counted and said; it must not grow unnoticed."""
    debts = [(program.id, mark) for program in PROGRAMS for mark in program.marks if mark.kind in DEBT]
    for name, mark in debts:
        print(f"{name}/{mark.path}:{mark.row}: {mark.kind} {'|'.join(sorted(mark.codes))}")
    assert {kind: sum(mark.kind == kind for _, mark in debts) for kind in DEBT} == DEBT


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
