"""Fixes of choices that Python cannot make while something is traced (JAX212)."""

from __future__ import annotations

import pytest

from jaxlint import fix_source
from jaxlint.config.settings import Settings

TEXT = """\
import chex
import jax
import jax.numpy as jnp


@chex.dataclass
class State:
    x: chex.Array
    n: float


def filled(number):
    return jnp.zeros(number)


@jax.jit
def step(s: State, y: chex.Array):
    {}


print(jnp.ones(2))
"""
CHOICES = {
    "if s.n > 2:\n        return s.x\n    return -s.x": "return jax.lax.cond(s.n > 2, lambda: s.x, lambda: -s.x)",
    "if s.n > 2:  # why\n        return s\n    return s.replace(x=y)": (
        "return jax.lax.cond(s.n > 2, lambda: s, lambda: s.replace(x=y))  # why"
    ),
    "if (s.n > 2):\n        return s.x\n    else:\n        return y": ("return jnp.where(s.n > 2, s.x, y)"),
    "if not s.n > 2: return s.x\n    return y": "return jnp.where(s.n > 2, y, s.x)",
    "if s.n > 2:\n        y = -y\n    return y": "y = jax.lax.cond(s.n > 2, lambda: -y, lambda: y)\n    return y",
    "if s.n > 2:\n        z = y\n    else:\n        z = s.x\n    return z": (
        "z = jnp.where(s.n > 2, y, s.x)\n    return z"
    ),
    "return (y, 1.0) if s.n > 2 else (s.x, 2.0)": "return jax.lax.cond(s.n > 2, lambda: (y, 1.0), lambda: (s.x, 2.0))",
    "if s.n > 2:\n        return y, 1.0\n    return s.x, 2.0": (
        "return jax.lax.cond(s.n > 2, lambda: (y, 1.0), lambda: (s.x, 2.0))"
    ),
    "return y * (s.x if s.n > 2 else y)": "return y * (jnp.where(s.n > 2, s.x, y))",
    "return y * 2 if s.n > 2 else jnp.sin(y)": "return jnp.where(s.n > 2, y * 2, jnp.sin(y))",
    "return y.at[0].set(1) if s.n > 2 else y": ("return jax.lax.cond(s.n > 2, lambda: y.at[0].set(1), lambda: y)"),
    "return y[0] if s.n > 2 else -s.x[1]": "return jnp.where(s.n > 2, y[0], -s.x[1])",
    "return y.sum() if s.n > 2 else s.x.sum()": "return jnp.where(s.n > 2, y.sum(), s.x.sum())",
    # what differs in type or shape: `jnp.where` makes it alike
    "return y * 2 if s.n > 2 else 0.0": "return jnp.where(s.n > 2, y * 2, 0.0)",
    "z = jnp.arange(3)\n    if s.n > 2:\n        z = z + 0.5\n    return z": (
        "z = jnp.arange(3)\n    z = jnp.where(s.n > 2, z + 0.5, z)\n    return z"
    ),
    "return y / 2 if s.n > 2 else y": "return jnp.where(s.n > 2, y / 2, y)",
    "k = 3 if s.n > 2 else 2\n    return y * k": ("k = jax.lax.cond(s.n > 2, lambda: 3, lambda: 2)\n    return y * k"),
    # a number of the kind that its field is said to be
    "return s.replace(n=s.n + 1) if s.x[0] > 2 else s.replace(n=0.0)": (
        "return jax.lax.cond(s.x[0] > 2, lambda: s.replace(n=s.n + 1), lambda: s.replace(n=0.0))"
    ),
    "return State(x=y, n=1.0) if s.x[0] > 2 else State(x=y, n=s.n)": (
        "return jax.lax.cond(s.x[0] > 2, lambda: State(x=y, n=1.0), lambda: State(x=y, n=s.n))"
    ),
    "z = s.n > 2 and y.sum() > 1\n    return z": "z = jnp.logical_and(s.n > 2, y.sum() > 1)\n    return z",
    "z = not (s.n > 2)\n    return z": "z = jnp.logical_not(s.n > 2)\n    return z",
}
#: What stays: what is not bound before, does more, or would lose a comment.
OTHERS = [
    "if s.n > 2:\n        z = y\n    return z",
    "if s.n > 2:\n        y += 1\n    return y",
    "if s.n > 2:\n        return y\n    elif y.sum() > 1:\n        return s.x\n    return -y",
    "if s.n > 2:\n        print(y)\n        return y\n    return -y",
    "if s.n > 2:\n        return y  # one\n    # other\n    return -y",
    "if s.n > 2:\n        return y\n    z = y\n    return z",
    # the two differ in structure, shape or type, or are none of jax
    "if s.n > 2:\n        return y.sum()\n    return y",
    "return y[0] if s.n > 2 else y",
    "return y @ y if s.n > 2 else y",
    "return jnp.sum(y) if s.n > 2 else jnp.sin(y)",
    "return y if s.n > 2 else None",
    "return (y, y) if s.n > 2 else (y, None)",
    "return y > 1 if s.n > 2 else y",
    "if s.n > 2:\n        y = State(x=y, n=1.0)\n    return y",
    "return dict(a=y) if s.n > 2 else dict(b=y)",
    'return {"a": y} if s.n > 2 else {"b": y}',
    'return y, "large" if s.n > 2 else "small"',
    # of what is no array for all that is known, one becomes a float
    "z = first(y)\n    return z[0] if s.n > 2 else jnp.sin(z[0])[0]",
    # a copy gets a number that is none of its field's kind, for all that is known
    "return s.replace(n=s.n + 1) if s.x[0] > 2 else s.replace(n=0)",
    "return s.replace(n=0) if s.x[0] > 2 else s",
    "return s.replace(x=s.x + 1) if s.x[0] > 2 else s.replace(x=0.0)",
    "return State(x=y, n=1) if s.x[0] > 2 else State(x=y, n=s.n)",
    "return s.replace(x=y).replace(n=0) if s.x[0] > 2 else s",
    "return (s.replace(n=0), y) if s.x[0] > 2 else (s, y)",
    # Python needs the number that is chosen
    "k = 3 if s.n > 2 else 2\n    return jnp.zeros(k)",
    "if s.n > 2:\n        k = 3\n    else:\n        k = 2\n    return [y + i for i in range(k)]",
    "return filled(3 if s.n > 2 else 2)",
    "k = 3 if s.n > 2 else 2\n    if k == 3:\n        y = -y\n    return y",
    "f = jnp.sin if s.n > 2 else jnp.cos\n    return f(y)",
]


@pytest.mark.parametrize("before", [*CHOICES, *OTHERS])
def test_jax_chooses(before: str) -> None:
    after, left = fix_source(TEXT.format(before), settings=Settings(select=("JAX212",)), unsafe=True)
    assert after == TEXT.format(CHOICES.get(before, before))
    assert bool(left) is (before in OTHERS)


CALLED = """\
import chex
import jax
import jax.numpy as jnp


@chex.dataclass
class Room:
    width: chex.Array

    def columns(self):
        return 3 if self.width > 2 else 2

    @property
    def rows(self):
        return 3 if self.width > 2 else 2

    def weight(self):
        return 3 if self.width > 2 else 2


@jax.jit
def draw(room: Room):
    return jnp.zeros((room.columns(), 2)), jnp.ones(room.rows), room.width * room.weight()
"""


def test_the_caller_needs_what_is_chosen() -> None:
    after, _ = fix_source(CALLED, settings=Settings(select=("JAX212",)), unsafe=True)
    whole = "return 3 if self.width > 2 else 2\n\n\n"
    assert after == CALLED.replace(whole, "return jax.lax.cond(self.width > 2, lambda: 3, lambda: 2)\n\n\n")
