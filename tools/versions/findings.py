"""What jaxlint says of all fixtures where the environment of a column is activated, and which facts make it differ."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxlint.config.settings import Settings
from jaxlint.config.versions import installed
from jaxlint.finding import Finding
from jaxlint.pytrees.frameworks import FACTS
from jaxlint.pytrees.versions import Fact
from tests.oracle import cases, environments
from tests.oracle.cases import Program
from tests.oracle.facts import is_declared
from tests.oracle.frameworks import NEWEST
from tests.oracle.linting import complaints, lint
from tests.oracle.versions import locked, target_versions

#: The findings of programs, by their ids.
Found = Mapping[str, frozenset[tuple[str, int, int, str, str]]]


@dataclass(frozen=True)
class Comparison:
    """How the findings of a column differ from those with the newest of everything."""

    programs: int
    findings: int
    #: How findings differ from what the fixtures say of these versions.
    wrong: Sequence[str]
    #: What the activated environment changes, beside saying which versions are meant.
    by_environment: Sequence[str]
    #: What each fact that is declared to differ changes, by its name.
    by_fact: Mapping[str, Sequence[str]]
    #: What differs, and no declared fact changes.
    unexplained: Sequence[str]


class Flipped(Settings, frozen=True):
    """Settings for which some facts, by their names, are otherwise than the versions say."""

    flipped: frozenset[str] = frozenset()

    def holds(self, fact: Fact) -> bool | None:
        """Whether a fact holds for the code."""
        held = super().holds(fact)
        return not held if fact.name in self.flipped else held


def compare(name: str) -> Comparison:
    """Lint all fixtures with the environment of the column `name` activated. Raises `Unavailable`."""
    python = environments.interpreter(name)
    known = {one: versions.versions for one, versions in installed(python).items()}
    programs = in_column(cases.programs(), name)
    activated = _lint(programs, python=python, target_versions=known)
    said = messages_of(activated)
    newest = messages_of(_lint(programs, target_versions=target_versions(locked(NEWEST))))
    differing = [program for program in programs if said.get(program.id) != newest.get(program.id)]
    by_fact, unexplained = explain(name, differing)
    return Comparison(
        programs=len(programs),
        findings=sum(map(len, said.values())),
        wrong=wrong(programs, activated),
        by_environment=difference(messages_of(_lint(programs, target_versions=known)), said),
        by_fact=by_fact,
        unexplained=unexplained,
    )


def explain(name: str, programs: Sequence[Program]) -> tuple[dict[str, list[str]], list[str]]:
    """What each fact changes of the findings of a column, and what none does, up to those with the newest."""
    known, newest = environments.versions_in(name), locked(NEWEST)
    facts = [fact.name for fact in FACTS.values() if is_declared(fact, known) != is_declared(fact, newest)]

    def flipped(*some: str) -> Found:
        return messages_of(_lint(programs, Flipped, target_versions=target_versions(known), flipped=frozenset(some)))

    said = flipped()
    by_fact = {fact: difference(said, flipped(fact)) for fact in facts}
    now = messages_of(_lint(programs, target_versions=target_versions(newest)))
    return {fact: lines for fact, lines in by_fact.items() if lines}, difference(flipped(*facts), now)


def in_column(programs: Iterable[Program], name: str) -> list[Program]:
    """The programs with the versions of a column, without those that need others."""
    return [program for program in cases.moved(programs, name) if not program.missing]


def wrong(programs: Iterable[Program], found: Mapping[str, Sequence[Finding]]) -> list[str]:
    """How findings differ from what the fixtures say of the versions of a column."""
    return [f"{p.id}: {line}" for p in programs for line in complaints(p, found.get(p.id, []))]


def messages_of(found: Mapping[str, Sequence[Finding]]) -> Found:
    """What findings say, by the ids of the programs."""
    return {id_: frozenset((f.path, f.row, f.column, f.code, f.message) for f in some) for id_, some in found.items()}


def difference(before: Found, now: Found) -> list[str]:
    """What is said no more (`-`), and what is said now (`+`)."""
    lines = []
    for id_ in sorted({*before, *now}):
        old, new = before.get(id_, frozenset()), now.get(id_, frozenset())
        for path, row, column, code, message in sorted(old ^ new):
            sign = "-" if (path, row, column, code, message) in old else "+"
            lines.append(f"{sign} {id_}/{path}:{row}:{column}: {code} {message}")
    return lines


def _lint(programs: Iterable[Program], made: type[Settings] = Settings, **settings: Any) -> dict[str, list[Finding]]:
    with tempfile.TemporaryDirectory() as root:
        return lint(programs, Path(root), made, **settings)
