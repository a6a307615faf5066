"""Fixes of leaves taken by position (JAX514), of numbers (JAX215, JAX510, JAX512), and of what has no hash (JAX504)."""

from __future__ import annotations

import pytest

from jaxlint import fix_source
from jaxlint.config.settings import Settings


def fixed(text: str, code: str) -> tuple[str, bool]:
    """A text with the fixes of a rule, and whether something of it is left."""
    after, left = fix_source(text, settings=Settings(select=(code,)), unsafe=True)
    return after, bool(left)


LEAVES = """\
import chex
import jax


@chex.dataclass
class Body:
    position: chex.Array
    mass: chex.Array


def use(body: Body):
    {}


run = jax.jit(use)
"""
TAKEN = {
    "position, mass = jax.tree.leaves(body)": "position, mass = body.position, body.mass",
    "p, m = jax.tree.leaves(body)  # pair": "p, m = body.position, body.mass  # pair",
    "(position, mass), tree = jax.tree.flatten(body)": (
        "(position, mass), tree = (body.position, body.mass), jax.tree.structure(body)"
    ),
    "position, mass = jax.tree.flatten(body)[0]": "position, mass = body.position, body.mass",
    "return dict(zip(body.keys(), jax.tree.leaves(body)))": (
        "return dict(zip(body.keys(), [body.position, body.mass]))"
    ),
    "xs = jax.tree.leaves(body)\n    return dict(zip(body.keys(), xs)), xs[0]": "",
    "position, other = jax.tree.leaves(body)": "position, other = jax.tree.leaves(body)",
}


@pytest.mark.parametrize("before", TAKEN)
def test_leaves_are_taken_by_name(before: str) -> None:
    """Unless a variable with the leaves is used for something else, or names do not tell which is meant."""
    after, _ = fixed(LEAVES.format(before), "JAX514")
    assert after == LEAVES.format(TAKEN[before] or before)


STATIC = """\
import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class Agent:
    weights: jax.Array
    index: {}


def population(size: int) -> Agent:
    agents = [Agent(weights=jnp.zeros(3), index={}) for i in range(size)]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *agents)


@jax.jit
def read(agent: Agent) -> jax.Array:
    return agent.weights{}
"""
STATIC_NUMBER = "int = struct.field(pytree_node=False, default=0)"


def test_a_number_that_differs_becomes_a_leaf() -> None:
    assert fixed(STATIC.format(STATIC_NUMBER, "i", ""), "JAX215") == (
        STATIC.format("int = struct.field(default=0)", "i", ""),
        False,
    )
    for field, value, use in (
        ("str = struct.field(pytree_node=False)", 'f"agent{i}"', ""),  # no leaf
        (STATIC_NUMBER, "i", " * jnp.ones(agent.index)"),  # has to be known
    ):
        text = STATIC.format(field, value, use)
        assert fixed(text, "JAX215") == (text, True)


CARRY = """\
import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class Mean:
    mean: jax.Array
    count: jax.Array


def start() -> Mean:
    zero = jnp.zeros((), int)
    {}


def run(xs: jax.Array):
    def turn(carry, x):
        return Mean(mean=carry.mean + x, count=carry.count + 0.5), None

    return jax.lax.scan(turn, start(), xs)
"""
BEGINNINGS = {
    "return Mean(jnp.zeros(()), jnp.zeros((), int))": "return Mean(jnp.zeros(()), jnp.zeros(()))",
    "return Mean(mean=jnp.zeros(()), count=jnp.ones((), dtype=jnp.int32))": (
        "return Mean(mean=jnp.zeros(()), count=jnp.ones(()))"
    ),
    "return Mean(mean=jnp.zeros(()), count=jnp.int32(0))": "return Mean(mean=jnp.zeros(()), count=0.0)",
    "return Mean(mean=zero, count=zero)": "return Mean(mean=zero, count=zero)",
}


@pytest.mark.parametrize("before", BEGINNINGS)
def test_a_loop_begins_with_a_float(before: str) -> None:
    """Unless another field begins with the same integer."""
    after, _ = fixed(CARRY.format(before), "JAX510")
    assert after == CARRY.format(BEGINNINGS[before])


COUNTED = """\
import jax.numpy as jnp
from flax import nnx


class Model(nnx.Module):
    def __init__(self):
        self.count = {}


@nnx.jit
def step(model: Model, x):
    model.count += 1
    return x{}
"""


def test_an_nnx_object_counts_in_an_array() -> None:
    """Unless what is compiled has to know the number."""
    assert fixed(COUNTED.format("0", ""), "JAX512") == (COUNTED.format("jnp.array(0)", ""), False)
    text = COUNTED.format("0", " + jnp.ones(model.count)")
    assert fixed(text, "JAX512") == (text, True)


def test_a_loop_gets_a_function_that_can_be_hashed() -> None:
    text = """\
import equinox as eqx
import jax


class Cell(eqx.Module):
    w: jax.Array

    def __call__(self, h, x):
        return h * self.w, x


def unroll(cell: Cell, h, xs):
    return jax.lax.scan({}, init=h, xs=xs)
"""
    lambda_ = "lambda *args: cell(*args)"
    assert fixed(text.format("cell"), "JAX504") == (text.format(lambda_), False)
    assert fixed(text.format("f=cell"), "JAX504") == (text.format(f"f={lambda_}"), False)
