"""The fix that makes instances in a classmethod, next to trees that describe instances (JAX308).

There the constructor without the check is what is right; where nobody can tell, there is no fix.
"""

from __future__ import annotations

import pytest

from jaxlint import fix_source
from jaxlint.config.settings import Settings

BATCH = """\
import dataclasses
from functools import partial

import jax
import jax.numpy as jnp


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Batch:
    images: jax.Array
    labels: jax.Array

    def __post_init__(self):
        if self.images.ndim != 2:
            raise ValueError("images must be flat")


def label(batch: Batch) -> jax.Array:
    return batch.labels


def use(batch: Batch):
    return jax.vmap(label)(batch)


batch = Batch(jnp.ones((4, 3)), jnp.ones(4))
"""
#: Trees of axes that stay as they are.
UNCHANGED = {
    "keyword": "jax.vmap(label, in_axes=(Batch(0, 0),))(batch)",
    "position": "jax.vmap(label, (Batch(0, 0),), 0)(batch)",
    "results": "jax.vmap(lambda b: b, out_axes=Batch(1, 0))(batch)",
    "partial": "partial(jax.vmap, in_axes=(Batch(0, 0),))(label)(batch)",
    "decorator": "@partial(jax.vmap, in_axes=(Batch(0, 0),))\ndef again(batch):\n    return batch.labels",
    "specs": "jax.shard_map(label, mesh=mesh, in_specs=Batch(P('i'), P('i')), out_specs=P('i'))(batch)",
    "function": "def inner(b):\n    return jax.vmap(label, in_axes=(Batch(0, 0),))(b)",
}
#: Where the use of a mention cannot be told.
UNKNOWN = {
    "variable": "axes = Batch(0, 0)\njax.vmap(label, in_axes=(axes,))(batch)",
    "variables": "axes = Batch(0, 0)\nevery = (axes,)\njax.vmap(label, in_axes=every)(batch)",
    "made": "def axes():\n    return Batch(0, 0)\n\n\njax.vmap(label, in_axes=(axes(),))(batch)",
    "parameter": "def mapped(axes):\n    return jax.vmap(label, in_axes=axes)(batch)\n\n\nmapped((Batch(0, 0),))",
    "default": "def mapped(axes=(Batch(0, 0),)):\n    return jax.vmap(label, in_axes=axes)(batch)",
    "options": "options = {'in_axes': (Batch(0, 0),)}\njax.vmap(label, **options)(batch)",
    "wrapper": "mapped(label, in_axes=(Batch(0, 0),))",
    "class": "class Axes:\n    batch = Batch(0, 0)\n\n\njax.vmap(label, in_axes=(Axes.batch,))(batch)",
}


def fixed(more: str) -> tuple[str, int]:
    after, left = fix_source(BATCH + more + "\n", settings=Settings(select=("JAX308",)), unsafe=True)
    return after, len(left)


@pytest.mark.parametrize("name", UNCHANGED)
def test_a_tree_of_axes_stays(name: str) -> None:
    after, left = fixed(UNCHANGED[name])
    assert "batch = Batch.make(jnp.ones((4, 3)), jnp.ones(4))" in after and not left
    assert after.endswith(UNCHANGED[name] + "\n")


@pytest.mark.parametrize("name", UNKNOWN)
def test_no_fix_where_a_tree_may_be_one_of_axes(name: str) -> None:
    assert fixed(UNKNOWN[name]) == (BATCH + UNKNOWN[name] + "\n", 1)


def test_what_has_nothing_to_do_with_the_axes_is_fixed() -> None:
    """Other variables, and what a mapped function is given, hold instances."""
    more = "other = Batch(jnp.ones((2, 3)), jnp.ones(2))\njax.vmap(label, in_axes=(Batch(0, 0),))({})\n"
    after, left = fixed(more.format("Batch(jnp.ones((4, 3)), jnp.ones(4))"))
    assert not left
    assert after.count("Batch.make(") == 3 and after.count("Batch(0, 0)") == 1
