"""Every fixture, in the spelling of every framework, runs against the real library and shows what it states."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
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

#: How many programs there are at least; they only ever get more.
LEAST_BAD = {
    "unused-suppression": 3,
    "unknown-suppression": 3,
    "static-array-field": 145,
    "static-counter": 156,
    "mutable-default": 165,
    "frozen-assignment": 135,
    "replace-unknown-field": 151,
    "custom-init": 30,
    "foreign-static-marker": 54,
    "local-pytree-class": 26,
    "nested-static-marker": 8,
    "positional-field-default": 35,
    "undecorated-subclass": 42,
    "double-registration": 63,
    "register-dataclass-fields": 16,
    "register-dataclass-form": 9,
    "unannotated-field": 76,
    "discarded-update": 168,
    "no-replace-method": 58,
    "lost-first-update": 93,
    "copy-and-mutate": 7,
    "train-state": 6,
    "assignment-in-init": 48,
    "conversion-in-init": 78,
    "validation-in-init": 89,
    "repeated-init": 32,
    "rebound-self": 54,
    "non-array-data-field": 98,
    "mutated-static-value": 98,
    "lost-mutation": 72,
    "stateful-module": 10,
    "static-self": 52,
    "unhashable-static-argument": 22,
    "jit-static-annotation": 5,
    "item-assignment": 51,
    "unregistered-class": 16,
    "data-field-as-static": 59,
    "donated-reuse": 33,
    "traced-static-value": 24,
    "grad-over-int": 29,
    "jitted-bound-method": 15,
    "array-equality": 39,
    "select-on-state": 17,
    "changing-structure": 33,
    "decorator-order": 23,
    "unsupported-option": 11,
    "frozen-inheritance": 24,
    "lost-static-marker": 31,
    "field-order": 47,
    "init-false-field": 8,
    "field-name-clash": 66,
    "malformed-field": 59,
    "malformed-flatten": 6,
    "string-annotations": 4,
    "init-recursion": 47,
    "uninitialised-field": 3,
    "cached-property": 8,
    "chex-super": 2,
    "penzai-inheritance": 5,
    "mutable-not-inherited": 3,
    "enforced-annotations": 2,
    "aliased-container": 13,
    "callable-leaf": 1,
    "captured-state": 16,
    "chex-extra-attribute": 2,
    "chex-mapping": 2,
    "constructor-arguments": 15,
    "derived-field": 10,
    "dropped-field": 1,
    "filtered-scalar": 2,
    "forced-setattr": 8,
    "fresh-static-object": 11,
    "import-time-jax": 4,
    "leaf-order": 4,
    "returned-old-state": 9,
    "reused-key": 9,
    "shared-default": 7,
    "static-mismatch": 7,
    "static-without-equality": 7,
    "tree-at": 1,
    "unknown-attribute": 8,
}
LEAST_GOOD = 467

#: How many letters of what a fact says of an error must be stated, so that the error is meant.
LEAST_SAID = 15

#: The frameworks that each rule holds for, as in the header of a fixture.
#: Rules that look at comments, whatever the framework.
ABOUT_COMMENTS = frozenset({"unused-suppression", "unknown-suppression"})
HOLDS_FOR = {
    "static-array-field": "static",
    "static-counter": "static",
    "mutable-default": "all",
    "frozen-assignment": "frozen",
    "replace-unknown-field": "all",
    "custom-init": "flax-dataclass flax-node train-state register-dataclass register-dataclass-mutable"
    " register-dataclass-fields jax-dataclasses chex chex-frozen tjax mjx",
    "foreign-static-marker": "all - treex",
    "local-pytree-class": "all",
    "nested-static-marker": "jax-dataclasses",
    "positional-field-default": "dataclass",
    "undecorated-subclass": "dataclass - flax-node - train-state - equinox - mjx",
    "double-registration": "all - namedtuple",
    "register-dataclass-fields": "register-dataclass-fields",
    "register-dataclass-form": "register-dataclass",
    "unannotated-field": "all",
    "discarded-update": "all",
    "no-replace-method": "all",
    "lost-first-update": "all",
    "copy-and-mutate": "jax-dataclasses",
    "train-state": "train-state",
    "assignment-in-init": "frozen - namedtuple - simple-pytree",
    "conversion-in-init": "rerun",
    "validation-in-init": "rerun",
    "repeated-init": "rerun",
    "rebound-self": "all - treex",
    "non-array-data-field": "all - mjx - nnx - treex",
    "mutated-static-value": "static",
    "lost-mutation": "all - nnx - treex",
    "stateful-module": "nnx treex",
    "static-self": "all",
    "unhashable-static-argument": "all",
    "jit-static-annotation": "jax-dataclasses",
    "item-assignment": "all - nnx - treex",
    "unregistered-class": "flax-dataclass register-dataclass chex equinox",
    "data-field-as-static": "all - nnx - mjx - treex",
    "donated-reuse": "all - treex",
    "traced-static-value": "static - nnx - treex",
    "grad-over-int": "all - nnx - mjx - treex",
    "jitted-bound-method": "flax-dataclass flax-node register-dataclass register-dataclass-mutable jax-dataclasses chex"
    " chex-frozen equinox simple-pytree-mutable nnx",
    "array-equality": "all - penzai - treex",
    "select-on-state": "all - treex",
    "changing-structure": "all - treex",
    "decorator-order": "flax-dataclass flax-node train-state jax-dataclasses chex chex-frozen tjax equinox penzai mjx"
    " register-dataclass register-dataclass-fields",
    "unsupported-option": "flax-dataclass flax-node jax-dataclasses chex chex-frozen tjax equinox simple-pytree penzai"
    " nnx mjx",
    "frozen-inheritance": "dataclass - train-state - register-dataclass-fields",
    "lost-static-marker": "dataclass - nnx",
    "field-order": "dataclass namedtuple - train-state",
    "field-name-clash": "dataclass",
    "malformed-field": "dataclass",
    "malformed-flatten": "register-dataclass",
    "string-annotations": "mjx treex",
    "init-recursion": "dataclass - train-state",
    "uninitialised-field": "equinox penzai",
    "cached-property": "chex chex-frozen equinox nnx simple-pytree simple-pytree-mutable treex",
    "chex-super": "chex chex-frozen",
    "penzai-inheritance": "penzai",
    "mutable-not-inherited": "simple-pytree simple-pytree-mutable",
    "enforced-annotations": "jax-dataclasses",
    "init-false-field": "flax-dataclass flax-node train-state register-dataclass register-dataclass-mutable equinox"
    " mjx",
    "aliased-container": "chex equinox flax-dataclass flax-node"
    " jax-dataclasses namedtuple register-dataclass simple-pytree",
    "callable-leaf": "equinox",
    "captured-state": "chex equinox flax-dataclass jax-dataclasses namedtuple penzai register-dataclass simple-pytree",
    "chex-extra-attribute": "chex",
    "chex-mapping": "chex chex-frozen",
    "constructor-arguments": "chex chex-frozen equinox flax-dataclass flax-node"
    " jax-dataclasses penzai register-dataclass simple-pytree tjax",
    "derived-field": "chex equinox flax-dataclass flax-node"
    " jax-dataclasses namedtuple penzai register-dataclass simple-pytree",
    "dropped-field": "register-dataclass",
    "filtered-scalar": "equinox nnx",
    "forced-setattr": "chex-frozen equinox flax-dataclass flax-node"
    " jax-dataclasses penzai register-dataclass simple-pytree",
    "fresh-static-object": "equinox flax-dataclass flax-node jax-dataclasses"
    " penzai register-dataclass simple-pytree train-state",
    "import-time-jax": "equinox flax-dataclass namedtuple register-dataclass",
    "leaf-order": "chex chex-frozen simple-pytree",
    "returned-old-state": "chex equinox flax-dataclass flax-node"
    " jax-dataclasses namedtuple penzai register-dataclass train-state",
    "reused-key": "chex equinox flax-dataclass flax-node"
    " jax-dataclasses namedtuple penzai register-dataclass simple-pytree",
    "shared-default": "chex-frozen equinox flax-dataclass flax-node jax-dataclasses penzai register-dataclass",
    "static-mismatch": "equinox flax-dataclass flax-node jax-dataclasses penzai register-dataclass simple-pytree",
    "static-without-equality": "equinox flax-dataclass flax-node"
    " jax-dataclasses penzai register-dataclass simple-pytree",
    "tree-at": "equinox",
    "unknown-attribute": "chex equinox flax-dataclass flax-node jax-dataclasses namedtuple penzai register-dataclass",
}


def environment_of(program: Program) -> str:
    """Where a program runs: the environment of its framework, or the newest if versions here are too old for it."""
    needed, _ = conditions(program.requires)
    if program.lacking and all(condition.is_lower and condition.holds(locked(NEWEST)) for condition in needed):
        return NEWEST
    return program.environment


def parameter(program: Program) -> Any:
    """The parameter of a test; what runs elsewhere than here is run if it is asked for."""
    marks = [] if environment_of(program) == MAIN else [pytest.mark.pythons]
    marks += [pytest.mark.speaks_of_versions] if program.speaks_of_versions else []
    return pytest.param(program, id=program.id, marks=marks)


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
    return f"needs {here.lacking}" if here.lacking else None


def run_all(name: str, jobs: list[dict[str, Any]], runners: Runners) -> dict[str, Outcome]:
    """Run the jobs of one environment, two at a time; if its runner is broken, that is what they show."""
    try:
        with ThreadPoolExecutor() as pool:
            parts = pool.map(lambda part: runners.run(name, part), halves(jobs))
            return {id_: outcome for part in parts for id_, outcome in part.items()}
    except environments.Broken as reason:
        return {job["id"]: f"the environment {name!r} is broken: {reason}" for job in jobs}


def halves(jobs: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Two parts of about equal size; a framework, which takes long to import, is in one of them only."""
    of_framework: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for job in jobs:
        of_framework[job["id"].rpartition("/")[2]].append(job)
    parts: tuple[list[dict[str, Any]], ...] = ([], [])
    for some in sorted(of_framework.values(), key=len, reverse=True):
        min(parts, key=len).extend(some)
    return [sorted(part, key=lambda job: str(job["id"])) for part in parts if part]


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


@pytest.mark.parametrize("program", [parameter(program) for program in PROGRAMS])
def test_shows_its_consequence(program: Program, outcomes: dict[str, Outcome]) -> None:
    program.check()
    outcome = outcomes[program.id]
    if isinstance(outcome, str):
        pytest.skip(outcome)
    shown = program.consequence
    source = "\n".join(f"--- {path}\n{text}" for path, text in program.files.items())
    context = f"\n{source}\n--- {program.id} showed: {outcome}"
    if shown.raises:
        assert matches(shown.raises, outcome["error"], program.versions), f"not raised: {shown.raises}{context}"
    else:
        assert outcome["error"] is None, f"raised {outcome['error']}{context}"
    for pattern in shown.prints:
        assert re.search(pattern, outcome["output"], re.MULTILINE), f"not printed: {pattern}{context}"
    for pattern in shown.warns:
        assert any(re.search(pattern, text) for text in outcome["warnings"]), f"no warning {pattern}{context}"
    results = outcome["calls"] if not shown.raises else []
    assert len(results) == len(shown.calls), context
    for call, result in zip(shown.calls, results, strict=True):
        if call.raises:
            is_raised = matches(call.raises, result["error"], program.versions)
            assert is_raised, f"{call.expression}: not raised: {call.raises}{context}"
        else:
            assert result["error"] is None, f"{call.expression} raised {result['error']}{context}"
            assert re.search(call.gives or "", result["value"]), (
                f"{call.expression} does not give {call.gives}{context}"
            )


def test_enough_programs() -> None:
    """Nothing got lost: the number of programs per rule, and every framework has its own."""
    bad = Counter(program.rule for program in PROGRAMS if program.is_bad)
    assert set(bad) == set(LEAST_BAD)
    for rule, least in LEAST_BAD.items():
        assert bad[rule] >= least, f"{rule}: {bad[rule]} bad programs"
    assert sum(not program.is_bad for program in PROGRAMS) >= LEAST_GOOD
    print("\n" + cases.table(PROGRAMS))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_rule_on_every_framework(framework: str) -> None:
    """Each rule has a bad and a good program for each framework it holds for."""
    rules = {rule for rule, frameworks in HOLDS_FOR.items() if framework in select(frameworks)}
    own = [p for p in PROGRAMS if p.framework == framework and p.rule not in ABOUT_COMMENTS]
    bad = {program.rule for program in own if program.is_bad}
    good = {program.rule for program in own if not program.is_bad}
    assert bad == rules
    assert good >= rules, f"no good program for {rules - good}"


def test_programs_were_run(request: pytest.FixtureRequest, outcomes: dict[str, Outcome]) -> None:
    """Of the programs for this interpreter all were run; skipped ones are said aloud."""
    skipped = Counter(reason for reason in outcomes.values() if isinstance(reason, str))
    for reason, number in skipped.items():
        print(f"\n{number} programs not run: {reason}")
    ran = {id_ for id_, outcome in outcomes.items() if not isinstance(outcome, str)}
    here = [p for p in chosen(request) if environment_of(p) == MAIN and not p.lacking]
    assert {program.id for program in here} <= ran, skipped


def test_programs_have_folders_of_their_own() -> None:
    """Every program has an id of its own, which is its folder."""
    assert len({program.id for program in PROGRAMS}) == len(PROGRAMS)
