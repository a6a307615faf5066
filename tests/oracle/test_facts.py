"""Each declared fact shows in these versions what is declared of them."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from jaxlint.pytrees.frameworks import FACTS
from tests.oracle import environments, facts
from tests.oracle.frameworks import MAIN
from tests.oracle.versions import here


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    """What the program of each fact did, by the name of the fact."""
    try:
        environments.interpreter(MAIN)
    except environments.Unavailable as reason:
        pytest.skip(str(reason))
    return facts.outcomes(sys.executable)


@pytest.mark.parametrize("name", FACTS)
def test_shows_what_is_declared(name: str, outcomes: dict[str, Any]) -> None:
    assert not facts.unlike(FACTS[name], here(), outcomes[name])


def test_each_fact_has_a_program() -> None:
    assert {path.stem for path in facts.PROGRAMS.glob("*.py")} == set(FACTS)
