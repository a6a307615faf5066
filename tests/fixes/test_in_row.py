"""Assignments in a row to one instance: one copy, where no value needs what is assigned before it."""

from __future__ import annotations

import pytest

from jaxlint import fix_source
from jaxlint.config.settings import Settings

SETTINGS = Settings(select=("JAX401",))

#: Assignments in a row go into one copy, where none of them needs the one before it.
ROWS = {
    "state.x = 1; state.y = 2\n": "state = state.replace(x=1, y=2)\n",
    "state.x = a\n    state.y = 2  # why\n": "state = state.replace(x=a)\n    state = state.replace(y=2)  # why\n",
    "state.x = a; state.y = 2  # why\n": "state = state.replace(x=a, y=2)  # why\n",
    "state.x = a;\n    state.y = 2\n": "state = state.replace(x=a);\n    state = state.replace(y=2)\n",
    "state.x = a\n    state.y = 2; print(a)\n": "state = state.replace(x=a, y=2)\n    print(a)\n",
    "if a: state.x = 1; state.y = 2; print(a)\n": "if a: state = state.replace(x=1, y=2); print(a)\n",
    "state.x = a, 1\n    state.y += 2\n": "state = state.replace(x=(a, 1), y=state.y + 2)\n",
    "state.x = a\n    state.y = state.x\n": "state = state.replace(x=a)\n    state = state.replace(y=state.x)\n",
    "state.x = state.y\n    state.y = state.z\n": "state = state.replace(x=state.y, y=state.z)\n",
    "state.x = a\n    state.y = state.sum\n": "state = state.replace(x=a)\n    state = state.replace(y=state.sum)\n",
    "state.x = a\n    state.y = print(state)\n": ""
    "state = state.replace(x=a)\n    state = state.replace(y=print(state))\n",
    "state.x = a\n    state.x = 2\n": "state = state.replace(x=a)\n    state = state.replace(x=2)\n",
    "state.x = a\n\n    state.y = 2\n": "state = state.replace(x=a)\n\n    state = state.replace(y=2)\n",
    "state.x = a\n    # why\n    state.y = 2\n": ""
    "state = state.replace(x=a)\n    # why\n    state = state.replace(y=2)\n",
    "try:\n        state.x = a\n        state.y = int(a)\n    finally:\n        print(state)\n": ""
    "try:\n        state = state.replace(x=a)\n        state = state.replace(y=int(a))\n    finally:\n"
    "        print(state)\n",
    "state.x = [\n        a]\n    state.y = (\n        2  # why\n    )\n": ""
    "state = state.replace(x=[\n        a], y=(\n        2  # why\n    ))\n",
    f"state.x = {'a' * 77}\n": f"state = state.replace(\n        x={'a' * 77}\n    )\n",
    f"state.x = {'a' * 40}\n    state.y = {'b' * 40}\n": ""
    f"state = state.replace(\n        x={'a' * 40},\n        y={'b' * 40},\n    )\n",
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ROWS)
def test_assignments_in_a_row_make_one_copy(before: str, newline: str) -> None:
    header = "from flax import struct\n\n\n@struct.dataclass\nclass State:\n    x: int\n    y: int\n    z: int\n\n"
    header += "    @property\n    def sum(self):\n        return self.x + self.y\n\n\n"
    text, after = (
        (header + f"def f(state: State, a):\n    {part}    return state\n").replace("\n", newline)
        for part in (before, ROWS[before])
    )
    assert fix_source(text, settings=SETTINGS)[0] == after


#: The same for other ways to make a copy, and for other holders.
ROWS_OF = {
    "m: M": ("m.x = 1\nm.y = 2, 3", "m = eqx.tree_at(lambda m: (m.x, m.y), m, (1, (2, 3)))"),
    "m: D": ("m.x = 1\nm.y = 2", "m = dataclasses.replace(m, x=1, y=2)"),
    "m: T": ("m.x = 1\nm.y = 2", "m = m._replace(x=1, y=2)"),
    "m: Held": ("m.m.x = 1\nm.m.y = 2", "m = m.replace(m=eqx.tree_at(lambda m: (m.x, m.y), m.m, (1, 2)))"),
    "m: Outer": ("m.m.x = 1", "m = eqx.tree_at(lambda m: m.m.x, m, 1)"),
    "m: Outer, _": ("m.m.x = 1\nm.m.y = 2", "m = eqx.tree_at(lambda m: (m.m.x, m.m.y), m, (1, 2))"),
    "m: Outer, n": ("m.m.n = 1", "m = eqx.tree_at(lambda m: m.m, m, dataclasses.replace(m.m, n=1))"),
    "m: M, n": ("m.x = 1\nm.n = 2", "m = eqx.tree_at(lambda m: m.x, m, 1)\nm = dataclasses.replace(m, n=2)"),
}


#: Targets of one tuple, which go into one copy, too.
TUPLES = {
    "state.x, state.y = a\n": "x, y = a\n    state = state.replace(x=x, y=y)\n",
    "state.x, (b, state.y), *state.z = a\n": "x, (b, y), *z = a\n    state = state.replace(x=x, y=y, z=z)\n",
    "state.x, state.y = state.y, state.x\n": "x, y = state.y, state.x\n    state = state.replace(x=x, y=y)\n",
    "state.x, y, state.y = a\n": "x, y, new_y = a\n    state = state.replace(x=x, y=new_y)\n",
    "state.x, a[state.x] = a\n": "state.x, a[state.x] = a\n",
    "state.x, a[0] = a\n": "x, a[0] = a\n    state = state.replace(x=x)\n",
    "state.x, y = a\n    state.y, z = y\n": ""
    "x, y = a\n    state = state.replace(x=x)\n    new_y, z = y\n    state = state.replace(y=new_y)\n",
}


@pytest.mark.parametrize("before", TUPLES)
def test_targets_of_one_tuple_make_one_copy(before: str) -> None:
    header = "from flax import struct\n\n\n@struct.dataclass\nclass State:\n    x: int\n    y: int\n    z: int\n\n\n"
    text, after = (
        header + f"def f(state: State, a):\n    {part}    return state\n" for part in (before, TUPLES[before])
    )
    assert fix_source(text, settings=SETTINGS)[0] == after


#: What a variable names is set by a copy, too, in which any field may be another one.
BY_NAME = {
    "m: State": "m = m.replace(**{name: 1})",
    "m: M": "m = dataclasses.replace(m, **{name: 1})",
    "m: T": "m = m._replace(**{name: 1})",
    "m: Own": "",
}


@pytest.mark.parametrize("given", BY_NAME)
def test_an_attribute_that_a_variable_names(given: str) -> None:
    header = (
        "import dataclasses\nfrom typing import NamedTuple\n\nimport equinox as eqx\nimport jax\n"
        "from flax import struct\n\n\n"
        "@struct.dataclass\nclass State:\n    x: jax.Array\n\n\n"
        "class M(eqx.Module):\n    x: jax.Array\n    n: int = eqx.field(static=True)\n\n\n"
        "class T(NamedTuple):\n    x: jax.Array\n\n\n"
        "class Own(eqx.Module):\n    x: jax.Array\n\n    def __init__(self, y):\n        self.x = y\n\n\n"
    )
    before, after = "setattr(m, name, 1)", BY_NAME[given]
    text = header + f"def f({given}, name):\n    print(dataclasses)\n    {before}\n    return m\n"
    fixed, left = fix_source(text, settings=SETTINGS)
    assert fixed == (text.replace(before, after) if after else text)
    assert [one.code for one in left] == ([] if after else ["JAX401"])
    assert not any("field=" in one.message for one in left)


@pytest.mark.parametrize("given", ROWS_OF)
def test_rows_in_the_spelling_of_the_framework(given: str) -> None:
    header = (
        "import dataclasses\nfrom typing import NamedTuple\n\nimport equinox as eqx\nimport jax\n"
        "from flax import struct\n\n\n"
        "class M(eqx.Module):\n    x: jax.Array\n    y: jax.Array\n    n: int = eqx.field(static=True)\n\n\n"
        "@jax.tree_util.register_dataclass\n@dataclasses.dataclass(frozen=True)\nclass D:\n    x: int\n    y: int\n\n\n"
        "class T(NamedTuple):\n    x: int\n    y: int\n\n\n"
        "@struct.dataclass\nclass Held:\n    m: M\n\n\n"
        "class Outer(eqx.Module):\n    m: M\n\n\n"
    )
    text, after = (
        header + f"def f({given}):\n    " + part.replace("\n", "\n    ") + "\n    return m\n" for part in ROWS_OF[given]
    )
    assert fix_source(text, settings=SETTINGS)[0] == after


def test_rows_of_a_module() -> None:
    header = "from flax import struct\n\n\n@struct.dataclass\nclass State:\n    step: int\n\n\n"
    text = header + "state = State(step=1)\nstate.step = 2\nprint(state)\n"
    text = text.replace("step: int\n", "step: int\n    x: int = 0\n")
    two = text.replace("state.step = 2\n", "state.step = 2\nstate.x = 3\n")
    assert fix_source(two)[0] == text.replace("state.step = 2\n", "state = state.replace(step=2, x=3)\n")
    # what is called may ask for the variable
    two = text.replace("state.step = 2\n", "state.step = 2\nstate.x = len('a')\n")
    made = "state = state.replace(step=2)\nstate = state.replace(x=len('a'))\n"
    assert fix_source(two)[0] == text.replace("state.step = 2\n", made)
