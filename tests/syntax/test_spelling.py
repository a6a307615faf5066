"""Words in messages: what was meant, and their articles."""

from __future__ import annotations

import pytest

from jaxlint.syntax.spelling import did_you_mean, with_article


@pytest.mark.parametrize("name", ["Agent", "S", "MLP", "NPC", "Update", "Env"])
def test_names_behind_an(name: str) -> None:
    assert with_article(name) == f"an `{name}`"


@pytest.mark.parametrize("name", ["Buffer", "T", "User", "Unit", "CNN", "State"])
def test_names_behind_a(name: str) -> None:
    assert with_article(name) == f"a `{name}`"


def test_letters_that_look_like_digits() -> None:
    assert did_you_mean("JAX2O2", ["JAX212", "JAX202"]) == "; did you mean `JAX202`?"


@pytest.mark.parametrize("word", ["JAX9", "JAX509", "JAX203", "JAX5099"])
def test_numbers_are_not_guessed(word: str) -> None:
    assert did_you_mean(word, ["JAX201", "JAX508"]) == ""
