"""The advice of findings that have no fix, applied to fixtures by hand: nothing is found then, and the programs run.

`advice/` has what was written for what. Its texts are those of the findings: whoever changes an advice reads there
whether what was written still is what it says. Each fourth program whose framework is installed here; with
`--thorough`, all of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from jaxlint.finding import Finding
from jaxlint.linter.engine import check_paths
from tests.fixes.by_hand import APPLIED, Applied
from tests.fixes.test_fixed_fixtures import settings_for, shown
from tests.oracle import cases
from tests.oracle.cases import Program
from tests.oracle.environments import Runners
from tests.oracle.frameworks import MAIN

PROGRAMS = {program.id: program for program in cases.programs()}
SAMPLE = [one for one in APPLIED if PROGRAMS[one.program].environment == MAIN][::4]


def found(program: Program, root: Path) -> list[Finding]:
    """What is found in a program."""
    return check_paths([str(root / program.id)], settings_for(program)).findings


def written(one: Applied, folder: Path, files: list[str]) -> list[str]:
    """Write what the advice says; what does not stand in the program exactly once."""
    wrong = []
    for before, after in one.write:
        texts = {name: (folder / name).read_text() for name in files}
        if sum(text.count(before) for text in texts.values()) != 1:
            wrong.append(f"{one.program} does not have once: {before!r}")
        for name, text in texts.items():
            (folder / name).write_text(text.replace(before, after))
    return wrong


def still_shown(program: Program, outcome: dict[str, Any]) -> list[str]:
    """What a program still shows of its consequence, what it prints, too."""
    expected = program.consequence.prints
    lines = str(outcome["output"]).splitlines()
    if expected and all(any(re.search(pattern, line) for line in lines) for pattern in expected):
        return [*shown(program, outcome), f"prints {lines}"]
    return shown(program, outcome)


def test_advice_mends(runners: Runners, is_thorough: bool, tmp_path: Path) -> None:
    jobs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    wrong: list[str] = []
    for one in APPLIED if is_thorough else SAMPLE:
        program = PROGRAMS[one.program]
        folder = program.write(tmp_path)
        advice = sorted({finding.help for finding in found(program, tmp_path) if finding.fix is None})
        if advice != one.advice:
            wrong.append(f"{one.program} advises {advice}")
        wrong += written(one, folder, list(program.files))
        wrong += [f"{one.program}: {left.code} in row {left.row} is left" for left in found(program, tmp_path)]
        calls = [one.calls.get(call.expression, call.expression) for call in program.consequence.calls]
        jobs[program.environment].append({"id": program.id, "folder": str(folder), "calls": calls})
    for environment, some in jobs.items():
        for id_, outcome in runners.run(environment, some).items():
            wrong += [f"{id_}: {what}" for what in still_shown(PROGRAMS[id_], outcome)]
    assert not wrong, "\n".join(wrong)


def test_most_rules_are_there() -> None:
    assert {one.program for one in APPLIED} <= PROGRAMS.keys()
    assert len({one.program.partition("/")[0] for one in APPLIED}) >= 60
    assert len({advice for one in APPLIED for advice in one.advice}) >= 120
