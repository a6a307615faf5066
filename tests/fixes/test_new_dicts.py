"""A dict in a static field that is changed in place is renewed where nobody else holds the instance, or put back."""

from __future__ import annotations

import pytest

from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence
from jaxlint.fixes.running import fix_source

HEAD = """\
import jax
from flax import struct


@struct.dataclass
class S:
    x: float
    cfg: dict = struct.field(pytree_node=False, default_factory=dict)


@jax.jit
def scaled(s: S):
    return s.x * s.cfg["k"]


class Runner:
    def __init__(self, s: S) -> None:
        self.held = [s]

"""
SET, NEW = 's.cfg["k"] = 3\n', 's = s.replace(cfg={**s.cfg, "k": 3})\n'
#: What stands around the change, and what it becomes; None where somebody else goes on with the instance.
AROUND = {
    "def f(s: S):\n    SET    scaled(s)\n    return s\n": "NEW",
    "def f(x):\n    s = S(x)\n    scaled(s)\n    SET    return scaled(s)\n": "NEW",
    "def f(x):\n    s = S(x)\n    t = s\n    scaled(s)\n    SET    return scaled(t)\n": None,
    "def f(x):\n    s = S(x)\n    held = [s]\n    scaled(s)\n    SET    return scaled(held[0])\n": None,
    "    def f(self):\n        s = self.held[0]\n        SET        return scaled(s)\n": None,
    "    def f(self):\n        s = self.held[0]\n        SET        self.held[0] = s\n        scaled(s)\n": "NEW",
    "def f(held: list[S]):\n    s = held[0]\n    SET    scaled(s)\n    return held\n": "NEW    held[0] = s\n",
}


@pytest.mark.parametrize("around", AROUND)
def test_who_holds_it_sees_the_new_dict(around: str) -> None:
    text, new = HEAD + around.replace("SET", SET), AROUND[around]
    settings = Settings(select=("JAX206",), min_confidence=Confidence.LOW)
    after, left = fix_source(text, settings=settings, unsafe=True)
    assert after == (text if new is None else HEAD + around.replace("SET", new.replace("NEW", NEW)))
    assert [finding.code for finding in left] == (["JAX206"] if new is None else [])
