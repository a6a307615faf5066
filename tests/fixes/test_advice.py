"""The advice of findings that have no fix, taken literally: what it says to write is written, and nothing is found."""

from __future__ import annotations

import pytest

from jaxlint import check_source

FLAX = "import jax\nfrom flax import struct\n\n@struct.dataclass\nclass S:\n    x: jax.Array\n\n"
EQUINOX = "import equinox as eqx\nimport dataclasses\n\nclass M(eqx.Module):\n    n: int = eqx.field(static=True)\n\n"
LISTS = (
    "import dataclasses, functools, jax\n\nDATA, META = ['x'], ['y']\n\n"
    "@functools.partial(jax.tree_util.register_dataclass, data_fields=DATA, meta_fields=META)\n@dataclasses.dataclass\n"
    "class A:\n    x: jax.Array\n    y: jax.Array\n\n@jax.jit\ndef f(a: A):\n    return a.x\n"
)
FLATTEN = (
    "import jax\n\n@jax.tree_util.register_pytree_node_class\nclass A:\n"
    "    def __init__(self, x: jax.Array, y: jax.Array) -> None:\n        self.x, self.y = x, y\n\n"
    "    def tree_flatten(self):\n        return (self.x,), (self.y,)\n\n"
    "    @classmethod\n    def tree_unflatten(cls, aux, children):\n        return cls(*children, *aux)\n\n"
    "@jax.jit\ndef f(a: A):\n    return a.x\n"
)
#: Programs, what the advice says, and what is written for what.
ADVICE = {
    "variable": (
        FLAX + "def f(s: S, name: str, v: jax.Array) -> S:\n    s[name] = v\n    return s\n",
        "use `s = s.replace(**{name: ...})`",
        ("s[name] = v", "s = s.replace(**{name: v})"),
    ),
    "another name": (
        FLAX + "def f(s: S, v: jax.Array) -> tuple[S, jax.Array]:\n    new = s\n    new.x = v\n    return new, s.x\n",
        "use `new = new.replace(x=...)`",
        ("new.x = v", "new = new.replace(x=v)"),
    ),
    "static of equinox": (
        EQUINOX + "def f(ms: tuple[M, ...]) -> tuple[M, ...]:\n    for m in ms:\n        m.n = 3\n    return ms\n",
        "make a new collection of copies: `dataclasses.replace(m, n=...)`",
        (
            "    for m in ms:\n        m.n = 3\n    return ms\n",
            "    return tuple(dataclasses.replace(m, n=3) for m in ms)\n",
        ),
    ),
    "lists": (
        LISTS,
        "move `y` from `meta_fields` to `data_fields`, or hold a hashable value (a tuple, bytes)",
        ("['x'], ['y']", "['x', 'y'], []"),
    ),
    "aux data": (
        FLATTEN,
        "move `y` from the aux data to the children in `tree_flatten`, and take it from there to rebuild, or hold a"
        " hashable value (a tuple, bytes)",
        ("return (self.x,), (self.y,)", "return (self.x, self.y), ()"),
    ),
}


@pytest.mark.parametrize("name", ADVICE)
def test_advice_taken_literally(name: str) -> None:
    text, help_, (before, after) = ADVICE[name]
    (finding,) = check_source(text)
    assert finding.fix is None
    assert finding.help == help_
    assert text.count(before) == 1
    assert not check_source(text.replace(before, after))


def test_what_a_fix_writes_over_several_rows_is_one_line() -> None:
    """It can be written as it stands; what cannot be put together is left out."""
    text = "import jax.numpy as jnp\n\ndef f():\n    a = jnp.zeros((3, 3))\n    a[0:1,\n      0:2] = {}\n    return a\n"
    (finding,) = check_source(text.format("1.0"))
    assert finding.help == "write `a = a.at[0:1, 0:2].set(1.0)`"
    (finding,) = check_source(text.format("max([\n        1.0,\n        2.0,\n    ])"))
    assert finding.fix is not None
    assert finding.help == "use `a = a.at[...].set(...)`"
