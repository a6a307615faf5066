"""Runs of the columns: what was run with which versions, how much of it passed, and which facts were seen to hold."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import msgspec

from jaxlint.pytrees.frameworks import FACTS
from jaxlint.pytrees.target import DISTRIBUTIONS
from jaxlint.pytrees.versions import dotted
from tests.oracle import cases, environments, facts
from tests.oracle.test_matrix import column_command

RECORDED = Path(__file__).with_name("runs.json")

#: The tests of a column that are counted, by the name of the test function.
_COUNTED = {
    "test_fixtures_run.test_shows_its_consequence": "programs",
    "test_facts.test_shows_what_is_declared": "facts",
}


class Run(msgspec.Struct, frozen=True):
    """What a column has shown: how many programs were run and passed, and whether each fact held."""

    versions: dict[str, str]
    programs: int
    passed: int
    #: What other programs need, and how many of them.
    skipped: dict[str, int]
    #: How many other tests passed: those of the model and of the registrations.
    model: int
    failed: list[str]
    facts: dict[str, bool]


def recorded() -> dict[str, Run]:
    """The last runs, by the names of the columns."""
    return msgspec.json.decode(RECORDED.read_bytes(), type=dict[str, Run]) if RECORDED.exists() else {}


def record(name: str) -> Run:
    """Run the column `name`, and store what it has shown. Raises `Unavailable`."""
    report = environments.ENVIRONMENTS / f"{name}.xml"
    command = [*column_command(environments.interpreter(name)), "-o", "junit_family=xunit1", f"--junitxml={report}"]
    subprocess.run(command, cwd=environments.ROOT, stdout=sys.stderr)
    run = read(report, name)
    _store(name, run)
    return run


def record_facts(name: str) -> list[str]:
    """Run the programs of the facts alone in the column `name`, and store what they show beside its last run.

    What shows something that is not declared is told. Raises `Unavailable`.
    """
    outcomes, known = facts.outcomes(environments.interpreter(name)), environments.versions_in(name)
    wrong = [line for one, fact in FACTS.items() if (line := facts.unlike(fact, known, outcomes[one]))]
    shown = {one: facts.holds(fact, outcomes[one]) is True for one, fact in sorted(FACTS.items())}
    _store(name, msgspec.structs.replace(recorded()[name], facts=shown))
    return wrong


def _store(name: str, run: Run) -> None:
    stored = msgspec.json.encode(recorded() | {name: run}, order="sorted")
    RECORDED.write_bytes(msgspec.json.format(stored, indent=1) + b"\n")


def _needing_others(name: str) -> Counter[str]:
    """How many programs need other versions than those of a column, by the first of what they need."""
    missing = (program.missing for program in cases.moved(cases.programs(), name))
    return Counter(f"needs {needed.partition(', ')[0]}" for needed in missing if needed)


def read(report: Path, name: str) -> Run:
    """What the report of pytest on a column says."""
    known = environments.versions_in(name)
    model, ran, wrong = 0, 0, list[str]()
    failed, shown = list[str](), dict[str, bool]()
    for case in ElementTree.parse(report).iter("testcase"):
        function, _, parameter = case.get("name", "").removesuffix("]").partition("[")
        test = f"{case.get('classname', '').rpartition('.')[2]}.{function}"
        outcome = next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")
        kind = _COUNTED.get(test, "model")
        if outcome in ("failure", "error"):
            failed.append(f"{test}[{parameter}]")
        if kind == "programs":
            values = {one.get("name"): one.get("value", "") for one in case.iter("property")}
            ran += int(values.get("ran", 0))
            wrong += values.get("failed", "").split()
        elif outcome == "passed" and kind == "facts":
            shown[parameter] = facts.is_declared(FACTS[parameter], known)
        elif outcome == "passed":
            model += 1
    return Run(
        versions={one: dotted(known[one]) for one in sorted({"python", *DISTRIBUTIONS}) if one in known},
        programs=ran,
        passed=ran - len(wrong),
        skipped=dict(sorted(_needing_others(name).items())),
        model=model,
        failed=sorted(failed),
        facts=dict(sorted(shown.items())),
    )
