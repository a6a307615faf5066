"""What a constructor does to a leaf, done twice: JAX309 agrees with what the expression really does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jaxlint import check_source
from jaxlint.config.settings import Settings
from jaxlint.rules.analyses.rebuilding.arithmetic import Items, apply
from tests.needs import needs

needs("jax")

#: Expressions over the leaf `x`; what they do is found out by evaluating them.
KNOWN = """
x / 10 | x * 2 | x + 1 | 1 - x | -x | +x | x ** 2 | 2 ** x | 1 / x | x // 2 | x % 5 | SCALE * x | x * 1.0 | x + 0
x / jnp.linalg.norm(x) | x / (jnp.linalg.norm(x) + 1e-6) | x - x.mean() | (x - x.mean()) / x.std() | x / x.sum()
x / x.sum(axis=-1, keepdims=True) | (x + jnp.pi) % (2 * jnp.pi) - jnp.pi | jnp.mod(x, 2 * math.pi)
jnp.asarray(x) | jnp.asarray(x).astype(jnp.float32) | jnp.asarray(x) / 100 | jnp.float32(x) * 0.5
jnp.clip(x, 0, 1) | jnp.clip(x / 10, 0, 1) | x.clip(min=0.5) | jnp.abs(x) | abs(x) | jnp.maximum(x, 0.1) | jnp.sign(x)
jnp.log(x) | jnp.exp(x) | jnp.sqrt(x) | jnp.square(x) | jnp.sqrt(jnp.square(x)) | jnp.tanh(x) | jnp.deg2rad(x)
jnp.add(x, 1) | jnp.multiply(x, x) | jnp.power(x, 3) | jnp.round(x, 1) | jnp.floor(x) | jnp.reciprocal(x)
jax.nn.softmax(x) | jax.nn.log_softmax(x) | jax.nn.relu(x) | jax.nn.sigmoid(x) | jax.nn.softplus(x)
jnp.sort(x) | jnp.cumsum(x) | jnp.flip(x) | jnp.diff(x) | x[1:] | x[:] | x[None] | x[:, None] | x[None, :]
x.reshape(-1) | x.sum() | jnp.linalg.norm(x) | jnp.max(x) | x - jnp.min(x, axis=0) | np.asarray(x) * 3
x - self.offset | x + self.scale | x * self.scale
jnp.concatenate([x, jnp.ones(1)]) | jnp.concatenate((jnp.zeros((2,)), x), 0) | jnp.concatenate([x, x], axis=-1)
jnp.concatenate([x, jnp.zeros(4)])[:4] | jnp.concatenate([jnp.zeros(1), x[1:]]) | jnp.concatenate([x[:2], x[:1]])
jnp.append(x, 1.0) | jnp.append(x, jnp.array([1.0, 2.0])) | jnp.append(x[:-1], 1.0) | jnp.append(x, x.sum())
jnp.hstack([x, jnp.ones(2)]) | jnp.tile(x, 2) | jnp.repeat(x, 1) | x.repeat(2) | jnp.array([1.0, 2.0, 3.0])
jnp.concatenate([x, jnp.ones_like(x[..., :1])], axis=-1) | jnp.concatenate([x[..., :2], jnp.ones_like(x[..., :1])], -1)
x * 0.001 | x / 1000 | 1e-3 * x + 1e-3 | x + 1e-8 | (x - x.mean()).mean() | jnp.maximum(x, 1e-3) | x - x
x * jnp.array([1.0, 2.0, 3.0]) | x + jnp.zeros(3) | x[..., 1:] | jnp.asarray([2.0, 4.0, 6.0]) / 2
"""
#: Expressions over a leaf that is a matrix.
MATRICES = """
x.T | x.mT | x.transpose() | jnp.transpose(x) | jnp.swapaxes(x, 0, 1) | jnp.swapaxes(x, -2, -1) | jnp.moveaxis(x, 0, 1)
(x + x.T) / 2 | x - x.T | x.T.T | x.T + 1 | jnp.concatenate([x, x], axis=-1) | jnp.hstack([x, x])
x[:, 1:] | x[..., :2] | jnp.concatenate([x, jnp.ones((3, 1))], axis=1) | jnp.append(x, jnp.zeros((1, 3)), axis=0)
"""
#: Expressions over a leaf that is a positive definite matrix.
FACTORS = """
jnp.linalg.cholesky(x) | jnp.linalg.inv(x) | np.linalg.inv(x) | jax.scipy.linalg.expm(x) | 2 * jnp.linalg.cholesky(x)
jnp.linalg.cholesky(x).T | jnp.linalg.inv(x) + 1
"""
#: Expressions that are not tried, or whose effect depends on values that are not known.
UNKNOWN = """
scaled(x) | x * self.mask | x @ x | x.T.ravel() | jnp.where(x > 0, x, 0) | self.scaled(x) | x if SCALE else x / 2
x / len(x) | jnp.sum(x, axis=1) | jnp.clip(x, self.low, 1) | x / self.unknown
jnp.concatenate([x, jnp.zeros(8 - x.shape[0])]) | jnp.concatenate([x[:4], jnp.ones(1)]) | jnp.append(x, [])
jnp.linalg.cholesky(x @ x.T) | jnp.linalg.inv(self.mask) | jnp.linalg.cholesky(x, upper=True)
jnp.concatenate([x, x], axis=self.axis) | jnp.concatenate([x, jnp.zeros(0)]) | jnp.concatenate([x, self.tail(x)])
"""
SCALE = 3.0


def split(text: str) -> list[str]:
    """The expressions of a table."""
    return [expression.strip() for line in text.strip().splitlines() for expression in line.split("|")]


def reported(expression: str, folder: Path) -> bool:
    """Whether a constructor that assigns the expression is reported."""
    program = f"""
import math
import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

SCALE = {SCALE}

@struct.dataclass
class Cell:
    x: jax.Array
    mask: jax.Array
    offset: jax.Array
    scale: float = struct.field(pytree_node=False, default=2.0)

    def __post_init__(self):
        x = self.x
        object.__setattr__(self, "x", {expression})
"""
    return bool(check_source(program, str(folder / "cell.py"), Settings(select=("JAX309",))))


VECTORS = ([0.7, -1.2, 2.9], [0.15, 0.45, 0.8])


def is_idempotent(expression: str, leaves: Sequence[Any] = VECTORS) -> bool:
    """Whether evaluating the expression on its own value changes nothing, for a few arrays."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    other = SimpleNamespace(offset=jnp.array([0.3, 1.7, -0.6]), scale=2.0)  # the other fields of the instance

    def evaluate(x: Any) -> Any:
        names = {"x": x, "self": other, "SCALE": SCALE, "jax": jax, "jnp": jnp, "np": np, "math": math}
        return jnp.asarray(eval(expression, names))

    for values in leaves:
        once = evaluate(jnp.array(values, dtype=float))
        twice = evaluate(once)
        if once.shape != twice.shape or not np.allclose(once, twice, rtol=1e-3, atol=1e-4, equal_nan=True):
            return False
    return True


@pytest.mark.parametrize("expression", split(KNOWN))
def test_known_expressions(expression: str, tmp_path: Path) -> None:
    assert reported(expression, tmp_path) is not is_idempotent(expression)


@pytest.mark.parametrize("expression", split(MATRICES))
def test_matrices(expression: str, tmp_path: Path) -> None:
    assert reported(expression, tmp_path) is not is_idempotent(expression, [[[0, 1, 2], [3, 4, 5], [6, 7, 8]]])


@pytest.mark.parametrize("expression", split(FACTORS))
def test_factors(expression: str, tmp_path: Path) -> None:
    assert reported(expression, tmp_path) is not is_idempotent(expression, [[[2.0, 0.6], [0.6, 1.0]]])


@pytest.mark.parametrize("expression", split(UNKNOWN))
def test_unknown_expressions(expression: str, tmp_path: Path) -> None:
    assert not reported(expression, tmp_path)


@pytest.mark.parametrize("name", ["hstack", "concatenate"])
def test_nothing_is_joined_of_nothing(name: str) -> None:
    assert apply(name, [Items(())], {}) is None
