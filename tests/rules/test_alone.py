"""What a rule finds does not depend on which other rules run: what it waits for, it says itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxlint.finding import Finding
from jaxlint.rules import all_rules
from jaxlint.rules.base import SuppressionRule
from tests.oracle import cases
from tests.oracle.cases import Program
from tests.oracle.linting import lint, linted
from tests.oracle.versions import here, target_versions

#: What is said of comments is about the rules that run.
RULES = {rule.name: rule.code for rule in all_rules() if not issubclass(rule, SuppressionRule)}
PROGRAMS = cases.by_case(cases.rotated(cases.programs()))


def of_code(found: dict[str, list[Finding]], code: str) -> dict[str, list[tuple[object, ...]]]:
    """The findings of one code, without their fixes."""
    own = {id_: [f for f in findings if f.code == code] for id_, findings in found.items()}
    return {id_: [(*f.sort_key, f.message, f.confidence) for f in some] for id_, some in own.items() if some}


@pytest.mark.comparisons
@pytest.mark.parametrize("rule", sorted({some[0].rule for some in PROGRAMS.values()} & RULES.keys()))
def test_a_rule_alone_finds_the_same(rule: str, stored: Path, tmp_path: Path) -> None:
    """One program of each of its cases, with all rules and with it alone."""
    some: list[Program] = [program for of_case in PROGRAMS.values() for program in of_case if program.rule == rule]
    code = RULES[rule]
    together = of_code(linted(some, stored), code)
    alone = of_code(lint(some, tmp_path, target_versions=target_versions(here()), select=(code,)), code)
    assert alone == together
    assert together
