"""The matrix: every fixture and the model of the classes with older versions of the frameworks, and with the newest.

Each column is an environment of its own, in which the tests are run by its own Python (see `versions.py`).
"""

from __future__ import annotations

import os
import subprocess

import pytest

from jaxlint.config.versions import normalised
from tests.oracle import cases, environments, versions
from tests.oracle.environments import ROOT

#: What is run in each column: all that compares jaxlint with the real libraries.
TESTS = ("tests/oracle/test_facts.py", "tests/rules/test_fixtures_run.py", "tests/pytrees")
#: What these files say of the fixtures as such does not depend on versions.
ABOUT_FIXTURES = "not test_enough_programs and not test_every_rule_on_every_framework"


def column_command(python: str, *options: str) -> list[str]:
    """What runs a column in the environment of `python`."""
    command = [python, "-m", "pytest", "-n0", "-q", "-rs", "--tb=short", "-p", "no:cacheprovider"]
    return [*command, "--frameworks", "-k", ABOUT_FIXTURES, *options, *TESTS]


#: What of it shows versions: the facts, the registrations, and the programs that speak of versions.
SHOWS_VERSIONS = "test_facts or test_registration or speaks_of_versions"


@pytest.mark.versions
@pytest.mark.parametrize("name", versions.MATRIX)
def test_column(name: str) -> None:
    run_column(name)


@pytest.mark.versions
@pytest.mark.parametrize("name", versions.MATRIX)
def test_short_column(name: str) -> None:
    """What `.ci/run` can wait for."""
    run_column(name, "-k", SHOWS_VERSIONS)


def run_column(name: str, *options: str) -> None:
    """Run a column in its environment, which is made if need be."""
    try:
        python = environments.interpreter(name)
    except environments.Unavailable as reason:
        pytest.skip(str(reason))
    command = column_command(python, *options)
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ, JAX_PLATFORMS="cpu"), text=True)
    assert done.returncode == 0, f"what {' '.join(command)} says stands above"


@pytest.mark.parametrize("name", versions.MATRIX)
def test_locks_hold_what_is_asked_for(name: str) -> None:
    locked = versions.locked(name)
    asked = {normalised(text.split(">")[0].split("=")[0]) for text in versions.COLUMNS[name].frameworks}
    assert asked <= set(locked)


def test_conditions_on_versions() -> None:
    line = "x = 1  # expect[chex jax>=0.6]: JAX401  # expect[jax<0.6]: JAX402  # expect[python>=3.11, equinox]: JAX301"
    found = {
        (framework, jax): {code for one in cases.marks("main.py", line, framework, known) for code in one.codes}
        for framework in ("chex", "equinox")
        for jax in ((0, 5, 3), (0, 6))
        for known in ({"jax": jax, "python": (3, 11)},)
    }
    assert found == {
        ("chex", (0, 5, 3)): {"JAX402"},
        ("chex", (0, 6)): {"JAX401"},
        ("equinox", (0, 5, 3)): {"JAX402", "JAX301"},
        ("equinox", (0, 6)): {"JAX301"},
    }


def test_headers_with_versions() -> None:
    """What holds for some versions is narrower than what holds for all, and wider than for fewer frameworks."""
    text = "# raises: A: x\n# raises[jax>=0.12]: B: x\n# raises[chex]: C: x\nx = 1\n"
    found = cases.headers(text, "main.py")
    raised = [
        cases.consequence(found, framework, "main.py", {"jax": jax}).raises
        for framework in ("equinox", "chex")
        for jax in ((0, 11), (0, 12, 0, 1))
    ]
    assert [one and one.type for one in raised] == ["A", "B", "C", "C"]
