"""The work that a function takes grows with its length, not with its square: counted in calls, whatever the load."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from jaxlint.linter.engine import check_source

HEAD = """
import jax
import jax.numpy as jnp
from flax import struct

@struct.dataclass
class S:
    x: jax.Array
    y: jax.Array

def g(s: S, a) -> S:
    return s.replace(x=a)

def body(s: S, a):
    return s.replace(x=a), None

def f(state: S, other: S, a):
"""
#: What is repeated in the body of `f`.
REPEATED = {
    "updates in branches": """
    v{i} = state.replace(x=state.x + 1)
    if v{i}.x.shape:
        state = v{i}
    else:
        state = state.replace(y=state.y + 1)
""",
    "variables that are never read": "    _v{i} = g(state, {i})\n",
    "a chain of variables": "    v{i} = state.replace(x={i})\n    w{i} = v{i}.replace(y=v{i}.x)\n",
    "functions inside": """
    @jax.jit
    def h{i}(s: S):
        return s.replace(x=other.x)
    state = h{i}(state)
""",
    "loops over one function": "    state, _ = jax.lax.scan(body, state, a)\n",
    "comparisons": "    if state.x is a:\n        state = state.replace(x={i})\n    b{i} = state.x == other.x\n",
}


def calls(text: str) -> int:
    """How many functions of ours and of Python run while a text is checked."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        check_source(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("repeated", REPEATED.values(), ids=REPEATED)
def test_twice_as_long_takes_twice_the_work(repeated: str) -> None:
    def text(times: int) -> str:
        return HEAD + "".join(repeated.replace("{i}", str(i)) for i in range(times)) + "    return state\n"

    calls(text(2))  # what is loaded the first time
    once, twice, four_times = (calls(text(times)) for times in (40, 80, 160))
    assert four_times - twice < 2.6 * (twice - once)
