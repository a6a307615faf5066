"""Items that are assigned to."""

from __future__ import annotations

from tests.mypy.cases.states import NOTED, ONE

CASES: dict[str, str] = {
    "items": NOTED
    + """
def f(s: S, x: jax.Array, i: int) -> None:
    s.x[0] = 1.0  # E: item
    s.x[i, 1:] += 1.0  # E: item
    x[x > 0] = 0.0  # E: item
    y = s.x + 1
    y[0] = 2.0  # E: item
    z = jnp.zeros(3)
    z[0], w = 1.0, 2.0  # E: item
""",
    "items_of_instance": "# only: seen"
    + NOTED
    + """
def f(s: S) -> None:
    s["x"] = 1  # E: item
""",
    "items_ok": "# not: mjx"  # where numpy arrays are static
    + """
@class S
    table: dict[str, jax.Array]
    host: np.ndarray
    stack: list[jax.Array]
    any: t.Any
def f(s: S, x: jax.Array, either: jax.Array | np.ndarray) -> jax.Array:
    s.table["a"] = x
    s.host[0] = 1.0
    s.stack[0] = x
    s.any[0] = x
    either[0] = 1
    h = np.asarray(x)
    h[0] = 1.0
    if isinstance(either, np.ndarray):
        either[1] = 2
    return x[0] + s.stack[0][1]
""",
    "items_by_name_ok": ONE
    + """
def f(cache: dict[str, jax.Array], names: list[str]) -> None:
    for name in names:
        cache[name][f"{name}_factor"] = jnp.zeros(1)
""",
    "items_expected_ok": NOTED
    + """
import pytest
def test_it(s: S) -> None:
    with pytest.raises(TypeError):
        s.x[0] = 1.0
""",
    "items_numpy_put_there_ok": NOTED
    + """
def f(raw: t.Any) -> S:
    s = S(x=raw)
    s.x[0] = 1.0
    return s
""",
    "items_of_nested": "# only: seen"
    + """
@class S
    x: jax.Array
@class T
    inner: S
def f() -> None:
    t = T(inner=S(x=jnp.zeros(3)))
    t.inner.x[0] = 1.0  # E: item
def g(raw: t.Any) -> None:
    t = T(inner=S(x=raw))
    t.inner.x[0] = 1.0
    s = S(x=raw)
    t = T(inner=s)
    t.inner.x[0] = 1.0
""",
    "read_items_ok": "# only: flax"
    + """
@class S
    x: jax.Array
def f(s: S) -> S:
    s = jax.tree.map(lambda leaf: np.array(leaf), s)
    s.x[0] = 1.0
    return s
def g(s: S) -> S:
    s = jax.tree.map(lambda leaf: leaf * 2, s)
    s.x.at[0].set(1.0)  # E: discard
    return s
""",
    "read_copies_ok": "# only: jdc"
    + """
from jax_dataclasses import copy_and_mutate as mutate
@class S
    x: jax.Array
def f(s: S) -> S:
    with mutate(s) as out, mutate(s) as other:
        out.x = other.x
    out.x = s.x  # E: frozen
    return out
""",
    "read_expected_ok": NOTED
    + """
import unittest
class Test(unittest.TestCase):
    def test(self) -> None:
        s = S(x=jnp.zeros(1))
        self.assertRaises(AttributeError, lambda: setattr(s, "n", 2))
        setattr(s, "n", 2)  # E: frozen
""",
}
