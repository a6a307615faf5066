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
    "if (s.n > 2):\n        return s.x\n    else:\n        return y": (
        "return jax.lax.cond(s.n > 2, lambda: s.x, lambda: y)"
    ),
    "if not s.n > 2: return s.x\n    return y": "return jax.lax.cond(s.n > 2, lambda: y, lambda: s.x)",
    "if s.n > 2:\n        y = -y\n    return y": "y = jax.lax.cond(s.n > 2, lambda: -y, lambda: y)\n    return y",
    "if s.n > 2:\n        z = y\n    else:\n        z = s.x\n    return z": (
        "z = jax.lax.cond(s.n > 2, lambda: y, lambda: s.x)\n    return z"
    ),
    "return (y, 1.0) if s.n > 2 else (s.x, 2.0)": "return jax.lax.cond(s.n > 2, lambda: (y, 1.0), lambda: (s.x, 2.0))",
    "if s.n > 2:\n        return y, 1.0\n    return s.x, 2.0": (
        "return jax.lax.cond(s.n > 2, lambda: (y, 1.0), lambda: (s.x, 2.0))"
    ),
    "return y * (s.x if s.n > 2 else y)": "return y * (jax.lax.cond(s.n > 2, lambda: s.x, lambda: y))",
    "return y * 2 if s.n > 2 else jnp.sin(y)": ("return jax.lax.cond(s.n > 2, lambda: y * 2, lambda: jnp.sin(y))"),
    "return y.at[0].set(1) if s.n > 2 else y": ("return jax.lax.cond(s.n > 2, lambda: y.at[0].set(1), lambda: y)"),
    "return y[0] if s.n > 2 else -s.x[1]": "return jax.lax.cond(s.n > 2, lambda: y[0], lambda: -s.x[1])",
    "return y.sum() if s.n > 2 else s.x.sum()": "return jax.lax.cond(s.n > 2, lambda: y.sum(), lambda: s.x.sum())",
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
    "return y * 2 if s.n > 2 else 0.0",
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
    "f = jnp.sin if s.n > 2 else jnp.cos\n    return f(y)",
]


@pytest.mark.parametrize("before", [*CHOICES, *OTHERS])
def test_jax_chooses(before: str) -> None:
    after, left = fix_source(TEXT.format(before), settings=Settings(select=("JAX212",)), unsafe=True)
    assert after == TEXT.format(CHOICES.get(before, before))
    assert bool(left) is (before in OTHERS)
