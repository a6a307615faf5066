"""Fixes of attributes that a compiled method goes on with: they become arguments (JAX504, JAX505)."""

from __future__ import annotations

import pytest

from jaxlint import fix_source
from jaxlint.config.settings import Settings

KEPT = """\
import jax


class Model:
    def __init__(self, scale: float):
        self.scale = scale
        self.apply = jax.jit(self._apply)

    def set_scale(self, scale: float):
        self.scale = scale

    def _apply(self, x{}):
        return x * {}

    def run(self, x):
        return {}


def main(model: Model, x):
    first = model.apply({})
    model.set_scale(2.0)
    return first, model.apply(x)
"""
CALLS = [
    (("", "self.scale", "self.apply(x)", "x"), (", scale", "scale", "self.apply(x, scale=self.scale)", "x")),
    (
        ("", "(self.scale + self.scale)", "[self.apply(x) for _ in x]", "x,"),
        (", scale", "(scale + scale)", "[self.apply(x, scale=self.scale) for _ in x]", "x,"),
    ),
    ((", y=1.0", "self.scale", "x", "x=x"), (", y=1.0, *, scale", "scale", "x", "x=x")),
    ((", *y", "self.scale", "x", "x"), (", *y, scale", "scale", "x", "x")),
    # it is handed on, called on something that nobody knows, or has a parameter, or need of a number, of that name
    (("", "self.scale", "map(self.apply, x)", "x"), None),
    (("", "self.scale", "make(x).apply(x)", "x"), None),
    (("", "self.scale", "getattr(self, 'apply')(x)", "x"), None),
    ((", scale=1.0", "self.scale", "x", "x"), None),
    (("", "jax.numpy.ones(self.scale)", "x", "x"), None),
    (("", "self.scale.factor", "x", "x"), None),
]


@pytest.mark.parametrize(("before", "after"), CALLS)
def test_an_attribute_becomes_an_argument(before: tuple[str, ...], after: tuple[str, ...] | None) -> None:
    fixed, left = fix_source(KEPT.format(*before), settings=Settings(select=("JAX504",)), unsafe=True)
    if after is None:
        assert fixed == KEPT.format(*before)
        return
    *others, last = after
    others[-1:] = [others[-1]]
    comma = "" if last.endswith(",") else ", "
    passed = f"{last}{comma or ' '}scale=model.scale{',' if not comma else ''}"
    text = KEPT.format(*others, passed).replace("model.apply(x)\n", "model.apply(x, scale=model.scale)\n")
    assert fixed == text
    assert not left


#: What is applied to the method besides, and whether an argument may be given by its name then.
APPLIED = {
    "jax.jit, static_argnums=0": True,
    "jax.jit, static_argnames=('self',), donate_argnums=1": True,
    "jax.jit, static_argnums=0, in_shardings=None": False,
    "jax.jit, static_argnums=0)\n    @partial(jax.vmap, in_axes=(None, 0)": False,
    "jax.jit, static_argnums=0)\n    @partial(timed, 0": False,
}
DECORATED = """\
from functools import partial

import jax
from timers import timed


class Model:
    def __init__(self):
        self.scale = 1.0

    @partial({})
    def apply(self, x):
        return x * self.scale

    def halve(self):
        self.scale = self.scale / 2


def main(model: Model, x):
    first = model.apply(x)
    model.halve()
    return first, model.apply(x)
"""


@pytest.mark.parametrize("applied", APPLIED)
def test_only_a_compiler_takes_an_argument_by_name(applied: str) -> None:
    text = DECORATED.format(applied)
    fixed, left = fix_source(text, settings=Settings(select=("JAX505",)), unsafe=True)
    assert (fixed != text) is APPLIED[applied]
    assert bool(left) is not APPLIED[applied]


PART = """\
import jax
from simple_pytree import Pytree


class Policy(Pytree, mutable=True):
    weight: jax.Array

    def __init__(self, weight: jax.Array):
        self.weight = weight

    def act(self, x):
        return self.weight * x


class Player:
    def __init__(self):
        self.policy = Policy(1.0)
        self._act = {}

    def improve(self):
        self.policy.weight += 1

    def play(self, x):
        first = {}
        self.improve()
        return first, {}
"""


def test_a_part_is_passed_first() -> None:
    before = PART.format("jax.jit(self.policy.act)", "self._act(x)", "self._act(x)")
    fixed, left = fix_source(before, settings=Settings(select=("JAX504",)), unsafe=True)
    act = "jax.jit(lambda policy, *args, **keywords: policy.act(*args, **keywords))"
    assert fixed == PART.format(act, "self._act(self.policy, x)", "self._act(self.policy, x)")
    assert not left


def test_what_holds_itself_static_is_passed_what_changes() -> None:
    text = """\
from functools import partial

import jax


class Agent:
    def __init__(self, seed: int):
        self.key = jax.random.key(seed)

    def act(self, x):
        self.key, _ = jax.random.split(self.key)
        return self._act({})

    @partial(jax.jit, static_argnums=0)
    def _act(self, {}):
        return x + jax.random.uniform({})
"""
    fixed, left = fix_source(text.format("x", "x", "self.key"), settings=Settings(select=("JAX505",)), unsafe=True)
    assert fixed == text.format("x, key=self.key", "x, key", "key")
    assert not left
