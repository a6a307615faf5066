"""What differs in an environment from what is recorded of the newest one: versions, public names, facts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jaxlint.pytrees.frameworks import FACTS
from jaxlint.pytrees.versions import dotted
from tests.oracle import environments, facts
from tests.oracle.versions import Versions

RECORDED = Path(__file__).with_name("names.json")
NAMES = Path(__file__).with_name("names.py")

Names = Mapping[str, Sequence[str]]


def names_in(python: str) -> Names:
    """The public names of the modules that are watched, in the environment of `python`."""
    done = subprocess.run([python, str(NAMES)], capture_output=True, text=True, check=True, cwd=NAMES.parent)
    found: Names = json.loads(done.stdout)
    return found


def record(names: Names) -> None:
    """Store the names for the next time."""
    RECORDED.write_text(json.dumps(names, indent=1, sort_keys=True) + "\n")


def recorded() -> Names:
    """The names of the last time."""
    found: Names = json.loads(RECORDED.read_text())
    return found


def changed_versions(before: Versions, now: Versions) -> Iterator[str]:
    """Which distributions came, went or have another version."""
    for name in sorted({*before, *now}):
        old, new = (dotted(known[name]) if name in known else "none" for known in (before, now))
        if old != new:
            yield f"{name}: {old} -> {new}"


def changed_names(before: Names, now: Names) -> Iterator[str]:
    """Which public names came and went."""
    for module in sorted({*before, *now}):
        old, new = set(before.get(module, ())), set(now.get(module, ()))
        yield from (f"{module}.{name}: new" for name in sorted(new - old))
        yield from (f"{module}.{name}: gone" for name in sorted(old - new))


def changed_facts(before: Versions, now: Versions) -> Iterator[str]:
    """Which declared facts hold for one of two environments only."""
    for fact in FACTS.values():
        held, holds = (facts.is_declared(fact, known) for known in (before, now))
        if held != holds:
            yield f"{fact.name}: {'holds' if holds else 'does not hold'} ({fact.when}): {fact.says}"


def undeclared_facts(python: str, now: Versions) -> Iterator[str]:
    """Which facts show something in the environment of `python` that is not declared of its versions."""
    outcomes = facts.outcomes(python)
    yield from filter(None, (facts.unlike(fact, now, outcomes[name]) for name, fact in FACTS.items()))


def run_tests(python: str) -> int:
    """Run what compares jaxlint with the real libraries, in the environment of `python`."""
    from tests.oracle.test_matrix import column_command

    return subprocess.run(column_command(python), cwd=environments.ROOT).returncode
