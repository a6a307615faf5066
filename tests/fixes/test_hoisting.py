"""What each turn of a loop makes is made once only where all turns make the same."""

from __future__ import annotations

import pytest

from jaxlint.fixes.running import fix_source

HEAD = """\
import jax
import optax
from flax import struct


@struct.dataclass
class S:
    x: int
    act: object = struct.field(pytree_node=False, default=None)


@jax.jit
def g(s: S):
    return s.x


def f(x, act=None):
    k = [1]
    for i in range(3):
        BEFORE
        g(S(x, act=VALUE))
"""


@pytest.mark.parametrize(
    ("before", "value"),
    [
        ("pass", "lambda v: v * i"),
        ("k[0] = i", "lambda v: v * k[0]"),
        ("k.append(i)", "lambda v: v * len(k)"),
        ("print(k)", "lambda v: v * len(k)"),
        ("pass", "lambda v, n=i: v * n"),
        ("x = x + 1", "lambda v: v * x"),
    ],
)
def test_what_may_differ_stays(before: str, value: str) -> None:
    text = HEAD.replace("BEFORE", before).replace("VALUE", value)
    after, left = fix_source(text, unsafe=True)
    assert (after, [finding.code for finding in left]) == (text, ["JAX210"])


@pytest.mark.parametrize("value", ["lambda v: v * 2", "optax.adam(1e-3)", "lambda v: len(k) * v"])
def test_what_is_the_same_is_made_once(value: str) -> None:
    after, left = fix_source(HEAD.replace("BEFORE", "pass").replace("VALUE", value), unsafe=True)
    assert not left
    assert f"    same_act = {value}\n    for i in range(3):\n" in after
    assert "g(S(x, act=same_act))" in after
