"""With other versions jaxlint reports the same of the fixtures, but for what a declared fact changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxlint.pytrees.target import DISTRIBUTIONS
from jaxlint.pytrees.versions import VersionRange
from tests.oracle import cases, environments
from tests.oracle.frameworks import MAIN
from tests.oracle.linting import lint
from tests.oracle.versions import MATRIX, locked, target_versions
from tools.versions.findings import compare, explain, in_column, wrong


@pytest.mark.comparisons
@pytest.mark.parametrize("name", MATRIX)
def test_fixtures_that_speak_of_versions(name: str, tmp_path: Path) -> None:
    """The versions of each column are known from its lock; the environment itself is not needed."""
    programs = in_column((p for p in cases.programs() if p.speaks_of_versions), name)
    assert len(programs) > 50
    assert not wrong(programs, lint(programs, tmp_path, target_versions=target_versions(locked(name))))


@pytest.mark.comparisons
def test_facts_explain_what_differs() -> None:
    """From Python 3.13 on `==` gives what comparing the last field gives: nothing else changes for these programs."""
    programs = in_column(
        (p for p in cases.programs() if p.rule == "array-equality" and p.case == "last_field"), "middle"
    )
    by_fact, unexplained = explain("middle", programs)
    assert set(by_fact) == {"eq-of-last-field"}
    assert len(by_fact["eq-of-last-field"]) == len(programs) > 3
    assert all("- array-equality/last_field" in line and "JAX508" in line for line in by_fact["eq-of-last-field"])
    assert not unexplained


@pytest.mark.versions
@pytest.mark.parametrize("name", [*MATRIX, MAIN])
def test_an_activated_environment(name: str) -> None:
    """All fixtures, where the environment of a column is activated: it says which versions are meant, and no more."""
    try:
        found = compare(name)
    except environments.Unavailable as reason:
        pytest.skip(str(reason))
    assert not found.wrong
    assert not found.by_environment
    assert not found.unexplained


def test_environments_say_their_versions() -> None:
    """What is looked for is in each lock, or is not made for its versions."""
    for name in MATRIX:
        known = target_versions(locked(name))
        assert set(known) <= {"python", *DISTRIBUTIONS} and {"python", "jax", "flax", "equinox", "chex"} <= set(known)
        assert all(isinstance(one, VersionRange) and one.is_exact for one in known.values())
