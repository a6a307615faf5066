"""How many of the findings in bad fixtures have a fix: a new rule without one lowers it for all."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from tests.oracle import cases
from tests.oracle.cases import Program
from tests.oracle.linting import counted, linted

#: The least share, and how many findings there are at least: less would say that too little was looked at.
SHARE, FOUND = 0.6, 2500


def test_most_findings_have_a_fix(stored: Path) -> None:
    """One program of each case, as other tests have linted them."""
    by_rule: dict[str, list[Program]] = defaultdict(list)
    for program in cases.programs():
        by_rule[program.rule].append(program)
    found, fixed = Counter[str](), Counter[str]()
    for some in by_rule.values():
        findings = linted(chosen := cases.rotated(some), stored)
        for program in (one for one in chosen if one.marks):
            for finding in counted(program, findings.get(program.id, [])):
                found[finding.code] += 1
                fixed[finding.code] += finding.fix is not None
    without = "\n".join(f"{code}: {n} of {found[code]} without" for code, n in (found - fixed).most_common(20))
    assert found.total() >= FOUND
    assert fixed.total() / found.total() >= SHARE, without
