"""Words in messages: what was meant, and their articles."""

from __future__ import annotations

import pytest

from jaxlint.syntax.spelling import did_you_mean, nearest, with_article


@pytest.mark.parametrize("name", ["Agent", "S", "MLP", "NPC", "Update", "Env"])
def test_names_behind_an(name: str) -> None:
    assert with_article(name) == f"an `{name}`"


@pytest.mark.parametrize("name", ["Buffer", "T", "User", "Unit", "CNN", "State"])
def test_names_behind_a(name: str) -> None:
    assert with_article(name) == f"a `{name}`"


def test_letters_that_look_like_digits() -> None:
    assert did_you_mean("JAX2O2", ["JAX212", "JAX202"]) == "; did you mean `JAX202`?"


def test_the_number_of_a_code() -> None:
    assert did_you_mean("401", ["JAX202", "JAX401", "frozen-assignment"]) == "; did you mean `JAX401`?"
    assert did_you_mean("401", ["JAX401", "PHY401"]) == did_you_mean("01", ["JAX401"]) == ""


@pytest.mark.parametrize("word", ["JAX9", "JAX509", "JAX203", "JAX5099"])
def test_numbers_are_not_guessed(word: str) -> None:
    assert did_you_mean(word, ["JAX201", "JAX508"]) == ""


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("actuator_qid", "actuator_actadr"),
        ("actuator_types", "actuator_trntype"),
        ("obs_mean", "obs_std"),
        ("rope_theta", "mrope_section"),
        ("state", "step"),
    ],
)
def test_words_that_names_share_say_nothing(name: str, field: str) -> None:
    assert nearest(name, [field]) is None


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("batch_stat", "batch_stats"),
        ("num_bad", "num_bad_epochs"),
        ("step_cnt", "step_count"),
        ("max_step", "max_steps"),
        ("cnt", "count"),
        ("rewrd", "reward"),
    ],
)
def test_words_that_are_alike(name: str, field: str) -> None:
    assert nearest(name, ["min_steps", field]) == field
