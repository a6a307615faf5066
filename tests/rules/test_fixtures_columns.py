"""With other versions jaxlint reports the same of the fixtures, but for what a declared fact changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

import jaxlint
from jaxlint.config.settings import Settings
from jaxlint.config.versions import installed
from jaxlint.finding import Finding
from jaxlint.pytrees.target import DISTRIBUTIONS
from jaxlint.pytrees.versions import VersionRange
from tests.oracle import cases, environments
from tests.oracle.cases import Program
from tests.oracle.frameworks import MAIN
from tests.oracle.linting import complaints, lint
from tests.oracle.versions import MATRIX, locked, target_versions


def in_column(programs: Iterable[Program], name: str) -> list[Program]:
    """The programs with the versions of a column, without those that need others."""
    moved = (replace(program, column=name) for program in programs if program.environment == MAIN)
    return [program for program in moved if not program.lacking]


def wrong(programs: Iterable[Program], found: dict[str, list[Finding]]) -> list[str]:
    """How findings differ from what the fixtures say of the versions of a column."""
    return [f"{p.id}: {line}" for p in programs for line in complaints(p, found.get(p.id, []))]


@pytest.mark.parametrize("name", MATRIX)
def test_fixtures_that_speak_of_versions(name: str, tmp_path: Path) -> None:
    """The versions of each column are known from its lock; the environment itself is not needed."""
    programs = in_column((p for p in cases.programs() if p.speaks_of_versions), name)
    assert len(programs) > 50
    assert not wrong(programs, lint(programs, tmp_path, target_versions=target_versions(locked(name))))


@pytest.mark.versions
@pytest.mark.parametrize("name", MATRIX)
def test_an_activated_environment(name: str, tmp_path: Path) -> None:
    """All fixtures, where the environment of a column is activated: it says which versions are meant, and no more."""
    try:
        python = environments.interpreter(name)
    except environments.Unavailable as reason:
        pytest.skip(str(reason))
    versions = {one: known.versions for one, known in installed(python).items()}
    assert versions == target_versions(locked(name))
    programs = in_column(cases.programs(), name)
    assert not wrong(programs, lint(programs, tmp_path, python=python, target_versions=versions))
    said, without = (
        messages(tmp_path, settings)
        for settings in (
            Settings(python=python, target_versions=versions),
            Settings(target_versions=versions),
        )
    )
    assert said == without
    newest = messages(tmp_path, Settings(target_versions=target_versions(locked("newest"))))
    print(f"\n{name}: {len(programs)} programs, {len(said)} findings; {len(said ^ newest)} are not those of newest:")
    print(*sorted(map(str, said ^ newest)), sep="\n")


def messages(root: Path, settings: Settings) -> set[tuple[str, int, int, str, str]]:
    """What the default rules say of everything below `root`."""
    found = jaxlint.check_paths([str(root)], settings).findings
    return {(str(Path(f.path).relative_to(root)), f.row, f.column, f.code, f.message) for f in found}


def test_environments_say_their_versions() -> None:
    """What is looked for is in each lock, or is not made for its versions."""
    for name in MATRIX:
        known = target_versions(locked(name))
        assert set(known) <= {"python", *DISTRIBUTIONS} and {"python", "jax", "flax", "equinox", "chex"} <= set(known)
        assert all(isinstance(one, VersionRange) and one.is_exact for one in known.values())
