"""Generated classes are registered with the real libraries; the class model must say what they then are.

Facts on which the model says nothing are counted, and must stay few; see `tests/model_oracle`.
"""

from __future__ import annotations

import importlib.util

import pytest

if any(importlib.util.find_spec(name) is None for name in ("jax", "flax", "equinox", "penzai")):
    pytest.skip("the frameworks are not installed", allow_module_level=True)

from hypothesis import HealthCheck, given, settings

from tests.model_oracle.check import Tally, all_facts
from tests.model_oracle.programs import Program, programs
from tests.model_oracle.spellings import SPELLINGS

pytestmark = pytest.mark.comparisons

#: How many programs are generated for each framework: with `--thorough`, and otherwise.
EXAMPLES, FEW = 100, 40
#: What each framework must be compared on at the least, in facts, if all are generated.
LEAST_COMPARED = 600
#: The part of the facts that the model may know nothing of; more where attributes are no fields or values decide.
MOST_UNKNOWN = {"simple-pytree-plain": 0.2, "nnx": 0.08}
MOST_UNKNOWN_OTHERWISE = 0.05
#: Facts that must have been compared for every framework, and how often at the least, if all are generated.
ALWAYS_COMPARED = {"creation": 60, "registered": 40, "hashable": 40, "assignment": 40, "replace": 15}
#: The same, where there are dataclass fields.
FIELDS_COMPARED = {"parameters": 20, "leaves": 15, "role": 25}


def _is_missing(name: str) -> bool:
    if name != "mjx":
        return False
    try:
        return importlib.util.find_spec("mujoco.mjx._src.dataclasses") is None
    except ImportError:
        return True


@pytest.mark.parametrize("name", SPELLINGS)
def test_the_model_says_what_the_runtime_does(name: str, is_thorough: bool) -> None:
    if _is_missing(name):
        pytest.skip("mujoco.mjx is not installed")
    tally = Tally()
    number = EXAMPLES if is_thorough else FEW

    @settings(
        max_examples=number,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(SPELLINGS[name]))
    def compare(program: Program) -> None:
        wrong = [fact for fact in all_facts(program, tally) if not fact.agrees]
        assert not wrong, "\n".join([*map(str, wrong), program.classes_text])

    compare()
    part = number / EXAMPLES
    assert tally.compared.total() >= LEAST_COMPARED * part, tally
    assert tally.unknown_share <= MOST_UNKNOWN.get(name, MOST_UNKNOWN_OTHERWISE), tally
    least = ALWAYS_COMPARED | ({} if name == "simple-pytree-plain" else FIELDS_COMPARED)
    for fact, times in least.items():
        assert tally.compared[fact] >= times * part, (fact, tally)
