"""Every fixture with a finding that can be fixed: the fixed program lints clean, stays as it is, and runs clean.

What is only shown to people is applied here, too. One program of each case, of another framework from case to case;
with `--thorough`, all of them. One in twelve, except among the comparisons.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence, Finding
from jaxlint.fixes import rounds, running
from jaxlint.fixes.running import FixedFiles, fix_found, fix_paths
from jaxlint.linter.engine import check_paths
from tests.oracle import cases
from tests.oracle.cases import Program
from tests.oracle.environments import Runners
from tests.oracle.frameworks import MAIN
from tests.oracle.linting import linted, linted_together
from tests.oracle.versions import here, target_versions
from tests.rules.test_fixtures_run import matches

PROGRAMS = defaultdict(list)
for one in cases.programs():
    PROGRAMS[one.rule].append(one)


class Fixed(msgspec.Struct):
    """A program after its fixes; with the codes of what was found, could be fixed, was fixed, and is left.

    What a fix brought to light and was fixed with it is counted, too.
    """

    program: Program
    found: Counter[str]
    fixable: Counter[str]
    fixed: Counter[str]
    left: Counter[str]
    problems: list[str]


def settings_for(program: Program) -> Settings:
    least = Confidence.LOW if program.confidence == "low" else Confidence.MEDIUM
    select = linted_together(program.rule)
    return Settings(select=select, min_confidence=least, target_versions=target_versions(here()))


def fixed_programs(some: list[Program], root: Path) -> list[Fixed]:
    """Some programs, fixed; with what was found in them and is left."""
    out = []
    for program in some:
        settings = settings_for(program)
        paths = [str(program.write(root))]
        check = partial(check_paths, paths, settings)
        result = check()
        found = Counter(finding.code for finding in result.findings)
        fixable = Counter(finding.code for finding in result.findings if finding.fix is not None)
        done = fix_found(result, paths, check, lambda _: True)
        left = Counter(f.code for f in done.result.findings)
        fixed = Counter(f.code for f in done.fixed)
        out.append(Fixed(program, found, fixable, fixed, left, done.problems))
    return out


def has_fix(finding: Finding, *, unsafe: bool) -> bool:
    """Whether a finding has any fix, also one that is only shown."""
    return unsafe and finding.fix is not None


@pytest.fixture(scope="module", autouse=True)
def all_fixes() -> Iterator[None]:
    """What is only shown is applied, too."""
    with pytest.MonkeyPatch.context() as patched:
        for module in (rounds, running):
            patched.setattr(module, "is_applicable", has_fix)
        yield


def samples() -> Iterator[Any]:
    """Each rule: one in twelve of its programs is fixed, and by `.ci/run` all of them together.

    The last one first: a process that asks for what is found in all fixtures begins with the first.
    """
    for rule in sorted(PROGRAMS, reverse=True):
        yield pytest.param((rule, 12), id=rule)
        yield pytest.param((rule, 1), id=f"{rule}/all", marks=pytest.mark.comparisons)


@pytest.fixture(scope="module", params=list(samples()))
def programs(
    request: pytest.FixtureRequest,
    is_thorough: bool,
    all_fixes: None,
    stored: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, list[Fixed]]:
    """A folder with the fixed programs of one rule, those in which something can be fixed."""
    root = tmp_path_factory.mktemp("fixed").resolve()
    rule, step = request.param
    some = PROGRAMS[rule] if is_thorough else cases.rotated(PROGRAMS[rule])
    found = linted(some, stored)
    is_fixable = {id_ for id_, findings in found.items() if any(finding.fix is not None for finding in findings)}
    tried = [one for one in some if one.id in is_fixable and (is_thorough or one.environment == MAIN)]
    return root, fixed_programs(tried if is_thorough else tried[::step], root)


def text_of(root: Path, program: Program) -> str:
    return "\n".join(f"--- {path}\n{(root / program.id / path).read_text()}" for path in program.files)


def test_fixed_programs_are_clean(programs: tuple[Path, list[Fixed]]) -> None:
    _, fixed = programs
    wrong = [
        f"{one.program.id}: {code} was found {number} times, fixed {one.fixed[code]}, left {one.left[code]}"
        for one in fixed
        for code, number in one.found.items()
        if one.left[code] > number - min(one.fixable[code], one.fixed[code])  # the fix of one may mend another, too
    ]
    refused = [problem for one in fixed for problem in one.problems]
    print("\n".join(refused))
    assert all("there would be JAX" in problem for problem in refused)  # what only comes to light behind a fix
    assert len(refused) <= 0.1 * sum(one.fixed.total() for one in fixed)
    assert not wrong, "\n".join(wrong)


def test_a_second_fix_changes_nothing(programs: tuple[Path, list[Fixed]]) -> None:
    """Where nothing is left, there is nothing to fix."""
    root, fixed = programs
    for one in [one for one in fixed if one.left]:
        before = text_of(root, one.program)
        again: FixedFiles = fix_paths([str(root / one.program.id)], settings_for(one.program), unsafe=True)
        assert not again.fixed
        assert text_of(root, one.program) == before


def test_fixed_programs_run(programs: tuple[Path, list[Fixed]], runners: Runners) -> None:
    """A program in which all is fixed shows nothing of its consequence any more."""
    root, fixed = programs
    jobs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    by_id = {one.program.id: one.program for one in fixed}
    for one in fixed:
        if one.program.rule == "unused-suppression":
            continue  # what its comments hide for good reason goes on
        if one.program.rule == "data-field-as-static" and one.found["JAX212"] > one.fixed["JAX212"]:
            continue  # where a class has no numbers left, functions are not read for those of its arrays
        if one.left.total() or one.program.missing:
            continue
        calls = [call.expression for call in one.program.consequence.calls]
        jobs[one.program.environment].append(
            {"id": one.program.id, "folder": str(root / one.program.id), "calls": calls}
        )
    wrong = []
    for environment, some in jobs.items():
        outcomes = runners.run(environment, some)
        for id_, outcome in outcomes.items():
            program = by_id[id_]
            wrong += [f"{id_}: {what}\n{text_of(root, program)}" for what in shown(program, outcome)]
    print(json.dumps({name: len(some) for name, some in jobs.items()}))
    assert not wrong, "\n".join(wrong)


def shown(program: Program, outcome: dict[str, Any]) -> list[str]:
    """What a fixed program still shows of its consequence, and what it raises instead."""
    expected = program.consequence
    if outcome["error"] is not None:
        return [f"raises {outcome['error']['text']}"]
    kinds = tuple(pattern.split(":")[0] for pattern in expected.warns)
    found = [f"warns {text}" for text in outcome["warnings"] if text.startswith(kinds)]
    for call, result in zip(expected.calls, outcome["calls"], strict=True):
        if call.raises and matches(call.raises, result["error"], program.versions):
            found.append(f"{call.expression} raises {result['error']['text']}")
        elif result["error"] is not None:
            found.append(f"{call.expression} raises {result['error']['text']} instead")
    return found
