"""Every fixture, in the spelling of every framework, runs against the real library and shows what it states."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from jaxlint.pytrees.frameworks import FACTS
from tests.oracle import cases, environments, facts
from tests.oracle.cases import Program, Raised
from tests.oracle.chosen import chosen
from tests.oracle.environments import Runners
from tests.oracle.frameworks import FRAMEWORKS, MAIN, NEWEST, select
from tests.oracle.versions import Versions, conditions, locked

PROGRAMS = cases.programs()
Outcome = dict[str, Any] | str

LEAST_GOOD = 467

#: How many letters of what a fact says of an error must be stated, so that the error is meant.
LEAST_SAID = 15

#: So many bad programs there are at least; they only ever get more.
LEAST_BAD = 3600
#: Rules that look at comments, whatever the framework.
ABOUT_COMMENTS = frozenset({"unused-suppression", "unknown-suppression"})


def environment_of(program: Program) -> str:
    """Where a program runs: the environment of its framework, or the newest if versions here are too old for it."""
    needed, _ = conditions(program.requires)
    if program.missing and all(condition.is_lower and condition.holds(locked(NEWEST)) for condition in needed):
        return NEWEST
    return program.environment


def parameters() -> Iterator[Any]:
    """The programs of each case; those that run elsewhere than here are by themselves, and run if it is asked for."""
    in_environment: dict[str, list[Program]] = defaultdict(list)
    for program in PROGRAMS:
        in_environment[environment_of(program)].append(program)
    for environment, here in in_environment.items():
        for name, (first, others) in cases.first_and_others(here).items():
            id_ = name if environment == MAIN else f"{name}/{environment}"
            marks = [] if environment == MAIN else [pytest.mark.pythons]
            marks += [pytest.mark.speaks_of_versions] if first.speaks_of_versions else []
            yield pytest.param([first], id=id_, marks=marks)
            if others:
                yield pytest.param(others, id=f"{id_}/others", marks=[*marks, pytest.mark.frameworks])


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, runners: Runners, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Outcome]:
    """What each of the programs that are asked for did, by its id; a text says why it could not be run here."""
    root = tmp_path_factory.mktemp("programs")
    found: dict[str, Outcome] = {}
    jobs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    asked = chosen(request)
    environments.prepare({environment_of(program) for program in asked})
    for program in asked:
        name = environment_of(program)
        if reason := why_not(program, name):
            found[program.id] = reason
        elif program.is_well_formed:
            calls = [call.expression for call in program.consequence.calls]
            jobs[name].append({"id": program.id, "folder": str(program.write(root)), "calls": calls})
    for name, all_ in jobs.items():
        found |= run_all(name, all_, runners)
    return found


def why_not(program: Program, name: str) -> str | None:
    """Why a program cannot be run in the environment `name`, if so."""
    try:
        environments.interpreter(name)
    except environments.Unavailable as reason:
        return f"no environment {name!r}: {reason}"
    here = program if name == program.environment else replace(program, column=name)
    return f"needs {here.missing}" if here.missing else None


def run_all(name: str, jobs: list[dict[str, Any]], runners: Runners) -> dict[str, Outcome]:
    """Run the jobs of one environment, two at a time; if its runner is broken, that is what they show."""
    try:
        with ThreadPoolExecutor(2) as pool:
            parts = pool.map(lambda part: runners.run(name, part), by_framework(jobs))
            return {id_: outcome for part in parts for id_, outcome in part.items()}
    except environments.Broken as reason:
        return {job["id"]: f"the environment {name!r} is broken: {reason}" for job in jobs}


def by_framework(jobs: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The jobs of each framework, which takes long to import and so is imported by one process; most jobs first."""
    of_framework: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for job in sorted(jobs, key=lambda job: str(job["id"])):
        of_framework[job["id"].rpartition("/")[2]].append(job)
    return sorted(of_framework.values(), key=len, reverse=True)


def matches(expected: Raised, error: dict[str, Any] | None, known: Versions) -> bool:
    """Whether an exception is the one that was stated, or of a type derived from it.

    Where a declared fact says that these versions show something else instead, it is that.
    """
    return any(facts.says(one, error) for one in readings(expected, known))


def readings(expected: Raised, known: Versions) -> list[Raised]:
    """What is to be seen in place of `expected` with some versions: what facts say that do not hold for them."""
    found: list[Raised] = []
    for fact in FACTS.values():
        if not fact.now or fact.of not in known or facts.is_declared(fact, known):
            continue
        now = facts.pattern(fact.now)
        stated = re.search(expected.text, fact.now)
        letters = min(len(re.sub(r"\W", "", expected.text)), len(stated[0])) if stated else 0
        is_same = re.search(now.text, expected.text)
        if expected.type in (now.type, "Exception") and (is_same or letters >= LEAST_SAID):
            # where less is stated than the fact says, something else may be meant
            found += [*map(facts.pattern, fact.otherwise), *(() if is_same else (expected,))]
    return found or [expected]


@pytest.mark.parametrize("of_case", list(parameters()))
def test_shows_its_consequence(
    of_case: list[Program], outcomes: dict[str, Outcome], record_property: Callable[[str, object], None]
) -> None:
    """Each program of a case does, which differ in the framework that they are written for.

    How many were run and which failed is told to `tools/versions/runs.py`.
    """
    wrong: dict[str, str] = {}
    reasons: list[str] = []
    for program in of_case:
        program.check()
        outcome = outcomes[program.id]
        if isinstance(outcome, str):
            reasons.append(outcome)
        elif complaint := next(unlike(program, outcome), ""):
            source = "\n".join(f"--- {path}\n{text}" for path, text in program.files.items())
            wrong[program.id] = f"{program.id}: {complaint}\n{source}\n--- {program.id} showed: {outcome}"
    record_property("ran", len(of_case) - len(reasons))
    record_property("failed", " ".join(wrong))
    assert not wrong, "\n\n".join(wrong.values())
    if len(reasons) == len(of_case):
        pytest.skip(reasons[0])


def unlike(program: Program, outcome: dict[str, Any]) -> Iterator[str]:
    """How what a program showed differs from what it states."""
    shown = program.consequence
    if shown.raises and not matches(shown.raises, outcome["error"], program.versions):
        yield f"not raised: {shown.raises}"
    if not shown.raises and outcome["error"] is not None:
        yield f"raised {outcome['error']}"
    yield from (
        f"not printed: {pattern}" for pattern in shown.prints if not re.search(pattern, outcome["output"], re.MULTILINE)
    )
    yield from (
        f"no warning {pattern}"
        for pattern in shown.warns
        if not any(re.search(pattern, text) for text in outcome["warnings"])
    )
    results = outcome["calls"] if not shown.raises else []
    if len(results) != len(shown.calls):
        yield f"{len(results)} of {len(shown.calls)} calls were made"
    for call, result in zip(shown.calls, results, strict=False):
        if call.raises and not matches(call.raises, result["error"], program.versions):
            yield f"{call.expression}: not raised: {call.raises}"
        elif not call.raises and result["error"] is not None:
            yield f"{call.expression} raised {result['error']}"
        elif not call.raises and not re.search(call.gives or "", result["value"]):
            yield f"{call.expression} does not give {call.gives}"


def test_enough_programs() -> None:
    """Nothing got lost: the number of programs per rule, and every framework has its own."""
    bad = Counter(program.rule for program in PROGRAMS if program.is_bad)
    assert set(bad) == {*cases.holds_for(), *ABOUT_COMMENTS}, "each folder of fixtures has a frameworks.txt"
    assert bad.total() >= LEAST_BAD
    assert sum(not program.is_bad for program in PROGRAMS) >= LEAST_GOOD
    print("\n" + cases.table(PROGRAMS))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_rule_on_every_framework(framework: str) -> None:
    """Each rule has a bad and a good program for each framework it holds for."""
    rules = {rule for rule, frameworks in cases.holds_for().items() if framework in select(frameworks)}
    own = [p for p in PROGRAMS if p.framework == framework and p.rule not in ABOUT_COMMENTS]
    bad = {program.rule for program in own if program.is_bad}
    good = {program.rule for program in own if not program.is_bad}
    assert bad - rules == set(), f"frameworks.txt does not name {framework}, for which there are bad programs"
    assert rules - bad == set(), f"no bad program for {framework}, which frameworks.txt names"
    assert good >= rules, f"no good program for {rules - good}"


def test_programs_were_run(request: pytest.FixtureRequest, outcomes: dict[str, Outcome]) -> None:
    """Of the programs for this interpreter all were run; skipped ones are said aloud."""
    skipped = Counter(reason for reason in outcomes.values() if isinstance(reason, str))
    for reason, number in skipped.items():
        print(f"\n{number} programs not run: {reason}")
    ran = {id_ for id_, outcome in outcomes.items() if not isinstance(outcome, str)}
    here = [p for p in chosen(request) if environment_of(p) == MAIN and not p.missing]
    assert {program.id for program in here} <= ran, skipped


def test_programs_have_folders_of_their_own() -> None:
    """Every program has an id of its own, which is its folder."""
    assert len({program.id for program in PROGRAMS}) == len(PROGRAMS)
