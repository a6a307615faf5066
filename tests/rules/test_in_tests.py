"""What each run would show has low confidence in tests: whoever wrote one has seen it run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

import jaxlint
from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence, Finding
from jaxlint.rules import all_rules
from jaxlint.rules.base import Rule
from tests.oracle import cases
from tests.oracle.cases import Program
from tests.oracle.linting import linted
from tests.oracle.versions import here, target_versions

#: Where tests stand, and what they use.
IN_TESTS = ("test_program.py", "program_test.py", "tests/helpers.py")
RULES = [rule for rule in all_rules() if rule.raises_at_once]
PROGRAMS = cases.rotated(cases.programs())


def programs_of(rule: type[Rule]) -> list[Program]:
    return [program for program in PROGRAMS if program.rule == rule.name]


def surely_bad(rule: type[Rule]) -> Iterator[Program]:
    """Programs of one file in which the rule finds something with more than low confidence."""
    for program in programs_of(rule):
        if program.is_bad and len(program.files) == 1 and not program.confidence:
            yield program


def found(rule: type[Rule], program: Program, path: Path) -> list[Finding]:
    """What the rule finds in a program of one file that stands at a path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    (text,) = program.files.values()
    path.write_text(text, encoding="utf-8")
    settings = Settings(
        select=(rule.code,),
        min_confidence=Confidence.LOW,
        fixable=(),
        target_versions=target_versions(here()),
    )
    return jaxlint.check_paths([str(path)], settings).findings


@pytest.mark.parametrize("each", [False, pytest.param(True, marks=pytest.mark.comparisons)], ids=["one", "each"])
@pytest.mark.parametrize("rule", RULES, ids=[rule.code for rule in RULES])
def test_what_each_run_shows_is_unlikely_in_a_test(rule: type[Rule], each: bool, tmp_path: Path, stored: Path) -> None:
    """The same is found in a test and beside tests as elsewhere, with low confidence.

    Every second program in one of the places, and by `.ci/run` each of them in all.
    """
    seen = 0
    known = linted(programs_of(rule), stored)
    for number, program in enumerate(islice(surely_bad(rule), 0, None, 1 if each else 2)):
        folder = tmp_path / str(number)
        elsewhere = [finding for finding in known[program.id] if finding.code == rule.code]
        seen += sum(one.confidence is not Confidence.LOW for one in elsewhere)
        for name in IN_TESTS if each else (IN_TESTS[number % len(IN_TESTS)],):
            inside = found(rule, program, folder / name)
            assert [(one.row, one.message) for one in inside] == [(one.row, one.message) for one in elsewhere]
            assert all(one.confidence is Confidence.LOW for one in inside)
    assert seen >= 3


def test_what_no_run_shows_is_as_sure_in_a_test(tmp_path: Path) -> None:
    """A discarded update raises nothing."""
    (rule,) = (rule for rule in all_rules() if rule.name == "discarded-update")
    program = next(surely_bad(rule))
    inside = found(rule, program, tmp_path / "test_program.py")
    assert any(one.confidence is not Confidence.LOW for one in inside)


def test_their_pages_say_so() -> None:
    """And no other page does."""
    assert len(RULES) == 7
    assert [rule.code for rule in all_rules() if "In tests it has low confidence" in rule.page()] == [
        rule.code for rule in RULES
    ]
