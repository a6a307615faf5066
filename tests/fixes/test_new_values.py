"""Fixes of values: what a static field holds (JAX206), a loop begins with (JAX510), a dict of changes has (JAX402)."""

from __future__ import annotations

import pytest

from jaxlint import fix_source
from jaxlint.config.settings import Settings

STATIC = """\
import dataclasses

import jax
from flax import struct


@dataclasses.dataclass
class Settings:
    scale: float = 1.0


@struct.dataclass
class Model:
    x: jax.Array
    items: list[float] = struct.field(pytree_node=False)
    names: set[str] = struct.field(pytree_node=False)
    rates: dict[str, float] = struct.field(pytree_node=False)
    settings: Settings = struct.field(pytree_node=False)


@jax.jit
def total(m: Model) -> jax.Array:
    return m.x * sum(m.items) * len(m.names) * m.rates["a"] * m.settings.scale


def change(m: Model, a: float) -> Model:
    {}
    return m


print(total(change(Model(1.0, [1.0], {{"b"}}, {{"a": 1.0}}, Settings()), 2.0)))
"""
CHANGES = {
    "m.items.append(a + 1)": "m = m.replace(items=[*m.items, a + 1])",
    "m.items.extend(range(3))  # why": "m = m.replace(items=[*m.items, *range(3)])  # why",
    'm.names.add("c" if a else "d")': 'm = m.replace(names={*m.names, "c" if a else "d"})',
    'm.names.discard("b")': 'm = m.replace(names=m.names - {"b"})',
    "m.rates.update(a=3.0, b=a)": 'm = m.replace(rates={**m.rates, "a": 3.0, "b": a})',
    "m.rates.update({'a': a})": "m = m.replace(rates={**m.rates, **{'a': a}})",
    'm.rates.pop("a")': 'm.rates.pop("a")',
    "m.settings.scale = a": "m = m.replace(settings=dataclasses.replace(m.settings, scale=a))",
    "m.settings.scale += 1": "m = m.replace(settings=dataclasses.replace(m.settings, scale=m.settings.scale + 1))",
    'b = m.rates.pop("a")': 'b = m.rates.pop("a")',
    "m.items.append(*[a])": "m.items.append(*[a])",
    "m.items.insert(0, a)": "m.items.insert(0, a)",
}


@pytest.mark.parametrize("before", CHANGES)
def test_what_a_static_field_holds(before: str) -> None:
    after, left = fix_source(STATIC.format(before), settings=Settings(select=("JAX206",)), unsafe=True)
    assert after == STATIC.format(CHANGES[before])
    assert bool(left) is (CHANGES[before] == before)


LOOP = """\
from typing import Optional

import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class Filter:
    mean: jax.Array
    last: Optional[jax.Array] = None


def start() -> Filter:
    return Filter(mean=jnp.ones(3))


def run(xs: jax.Array, n: int):
    def turn(f, x):
        return f.replace(mean=f.mean + x, last={}), None

    {}
"""
#: What the function gives to the field, what the loop begins with, and how it begins then.
BEGINNINGS = [
    ("x", "scan(turn, Filter(mean=xs), xs)", "scan(turn, Filter(mean=xs, last=jnp.zeros_like(xs[0])), xs)"),
    ("f.mean", "scan(turn, Filter(mean=xs), xs)", "scan(turn, Filter(mean=xs, last=jnp.zeros_like(xs)), xs)"),
    ("f.mean", "scan(turn, Filter(jnp.zeros(n)), xs)", "scan(turn, Filter(jnp.zeros(n), last=jnp.zeros(n)), xs)"),
    ("f.mean", "scan(turn, Filter(jnp.ones(n), None), xs)", ""),
    ("jnp.zeros(2)", "scan(turn, Filter(mean=xs), xs)", "scan(turn, Filter(mean=xs, last=jnp.zeros(2)), xs)"),
    ("jnp.zeros(n)", "scan(turn, Filter(mean=xs), xs)", ""),
    ("x if f.last is None else f.last", "scan(turn, Filter(mean=xs), xs)", ""),
    ("x * 2", "scan(turn, Filter(mean=xs), xs)", ""),
]


@pytest.mark.parametrize(("given", "before", "after"), BEGINNINGS)
def test_what_a_loop_begins_with(given: str, before: str, after: str) -> None:
    text = LOOP.format(given, f"return jax.lax.{before}")
    fixed, left = fix_source(text, settings=Settings(select=("JAX510",)), unsafe=True)
    assert fixed == (LOOP.format(given, f"return jax.lax.{after}") if after else text)
    assert bool(left) is not bool(after)


def test_a_variable_is_bound_to_a_copy_in_front_of_the_loop() -> None:
    """Unless it is bound once, to what the constructor makes."""
    loop = "return jax.lax.scan(turn, f, xs)"
    once = f"f = Filter(mean=xs)\n    {loop}"
    twice = f"f = start()\n    f = f.replace(mean=xs)\n    {loop}"
    for before, after in {
        once: f"f = Filter(mean=xs, last=jnp.zeros_like(xs))\n    {loop}",
        twice: twice.replace("return", "f = f.replace(last=jnp.zeros_like(f.mean))\n    return"),
    }.items():
        fixed, left = fix_source(LOOP.format("f.mean", before), settings=Settings(select=("JAX510",)), unsafe=True)
        assert fixed == LOOP.format("f.mean", after)
        assert not left


def test_a_function_begins_with_zeros() -> None:
    loop = "return jax.lax.scan(turn, start(), xs)"
    text = LOOP.format("f.mean", loop)
    fixed, left = fix_source(text, settings=Settings(select=("JAX510",)), unsafe=True)
    zeros = "Filter(mean=jnp.ones(3), last=jnp.zeros_like(jnp.ones(3)))"
    assert fixed == text.replace("Filter(mean=jnp.ones(3))", zeros)
    assert not left


DICTS = """\
from flax import struct


@struct.dataclass
class Ball:
    height: float
    mass: float


def changed() -> dict:
    return {{"mass": 1.0}}


def throw(ball: Ball, heavy: bool) -> Ball:
    {}
    return ball.replace(**changes)
"""
KEYS = {
    'changes = {"heigth": 1.0}': 'changes = {"height": 1.0}',
    "changes = dict(heigth=1.0, mass=2.0)": "changes = dict(height=1.0, mass=2.0)",
    "changes = {}\n    changes['heigth'] = 1.0": "changes = {}\n    changes['height'] = 1.0",
    "changes = changed()\n    changes.update(heigth=1.0)": "changes = changed()\n    changes.update(height=1.0)",
    "changes = {'heigth': 1.0}\n    print('heigth')": "",
}


@pytest.mark.parametrize("before", KEYS)
def test_a_key_is_renamed_where_it_is_written(before: str) -> None:
    after, left = fix_source(DICTS.format(before), settings=Settings(select=("JAX402",)), unsafe=True)
    assert after == DICTS.format(KEYS[before] or before)
    assert bool(left) is not bool(KEYS[before])


def test_a_key_is_renamed_in_the_function_that_writes_it() -> None:
    text = DICTS.format("changes = changed()").replace('{"mass": 1.0}', '{"mas": 1.0}')
    after, left = fix_source(text, settings=Settings(select=("JAX402",)), unsafe=True)
    assert after == text.replace('"mas"', '"mass"')
    assert not left
