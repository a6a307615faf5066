"""Fixes that are held back, for they would break what else a program does: found by programs that a sceptic wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxlint import fix_paths, fix_source
from jaxlint.config.settings import Settings

HEAD = """\
import dataclasses
import json
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx, struct

"""
CHECKED = """\
@struct.dataclass
class Box:
    lo: jax.Array

    def __post_init__(self):
        if self.lo.ndim != 1:
            raise ValueError("bad")


box = jax.vmap(lambda box: box.lo.sum())(Box(jnp.zeros(2)))
"""
CACHED = """\
class Net(nnx.Module):
    def __init__(self):
        self.w = nnx.Param(jnp.ones(2))

    @cached_property
    def mask(self):
        return jnp.ones(2)
"""
COUNTED = """\
class Net(nnx.Module):
    def __init__(self):
        self.w = nnx.Param(jnp.ones(2))
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x * self.w


@nnx.jit
def forward(net: Net, x):
    return net(x)


net = Net()
for _ in range(3):
    forward(net, jnp.ones(2))
"""
STEPPED = """\
@struct.dataclass
class State:
    w: jax.Array
    step: int = struct.field(pytree_node=False, default=0)


@jax.jit
def update(state: State):
    return state.replace(w=state.w + 1, step=state.step + 1)


state = update(State(jnp.ones(2)))
"""
COMPARED = """\
@struct.dataclass
class Pair:
    x: jax.Array
    {}


def same(a: Pair, b: Pair):
    return a == b
"""
FROZEN = """\
@dataclasses.dataclass
class Base:
    lr: float = 0.1


@struct.dataclass
class Tuned(Base):
    w: Any = None
"""
LISTED = """\
@partial(jax.tree_util.register_dataclass, data_fields=("w",), meta_fields=("n", "{}"))
@dataclasses.dataclass
class Pair:
    w: jax.Array
    {}: {}
    n: int = 1
"""
SHARED = """\
@dataclasses.dataclass
class Log:
    rows: list = dataclasses.field(default_factory=list)

    def __hash__(self):
        return 1


@struct.dataclass
class State:
    x: jax.Array
    log: Log = struct.field(pytree_node=False, default=Log())


a, b = State(1.0), State(2.0)
a.log.rows.append(1)
"""
ATTRIBUTE = """\
@struct.dataclass
class State:
    x: jax.Array
    origin = jnp.zeros(2)
"""
#: The rule, a program in which it has a fix, and what it has none beside.
HELD_BACK = [
    ("JAX308", CHECKED, "make = partial(Box)\n"),
    ("JAX308", CHECKED, "boxes = list(map(Box, [jnp.ones(2)]))\n"),
    ("JAX308", CHECKED, 'kinds = {"box": Box}\n'),
    ("JAX308", CHECKED, "def kind():\n    return Box\n"),
    ("JAX513", CACHED, "def reset(net):\n    del net.mask\n"),
    ("JAX513", CACHED, "def change(net):\n    net.mask = jnp.zeros(2)\n"),
    ("JAX512", COUNTED, 'text = json.dumps({"calls": net.calls})\n'),
    ("JAX512", COUNTED, 'text = {3: "three"}[net.calls]\n'),
    ("JAX512", COUNTED, "assert isinstance(net.calls, int)\n"),
    ("JAX202", STEPPED, 'json.dump({"step": state.step}, open("log", "w"))\n'),
    ("JAX202", STEPPED, "losses = {state.step: 1.0}\n"),
    ("JAX107", FROZEN, "base = Base()\nbase.lr = 0.3\n"),
    ("JAX302", SHARED, "print(State.log)\n"),
    ("JAX110", ATTRIBUTE, "print(State.origin)\n"),
]
#: What others say of the same program that does not matter here.
HARMLESS = [
    "def kind(box: Box, *more: list[Box]) -> Box | None:\n    assert isinstance(box, Box)\n    return box\n",
    "def mask(net):\n    return net.mask == 1\n",
    'text = f"{net.calls:03d}", range(net.calls)\n',
    'log = {"step": 1}\nprint(state.step, [state.step], int(state.step))\n',
    "base = Base(lr=0.3)\nprint(base.lr == 0.3)\n",
    "print(State(1.0).log)\n",
    "print(State(1.0).origin)\n",
]
KINDS = {"JAX308": 0, "JAX513": 1, "JAX512": 2, "JAX202": 3, "JAX107": 4, "JAX302": 5, "JAX110": 6}


def is_changed(rule: str, program: str) -> bool:
    """Whether a fix of a rule changes a program."""
    text = HEAD + program
    return fix_source(text, settings=Settings(select=(rule,)), unsafe=True)[0] != text


@pytest.mark.parametrize(("rule", "program", "beside"), HELD_BACK)
def test_what_else_is_done_holds_a_fix_back(rule: str, program: str, beside: str) -> None:
    assert is_changed(rule, program)
    assert not is_changed(rule, f"{program}\n\n{beside}")


@pytest.mark.parametrize("rule", KINDS)
def test_what_does_not_matter(rule: str) -> None:
    program = next(program for code, program, _ in HELD_BACK if code == rule)
    assert is_changed(rule, f"{program}\n\n{HARMLESS[KINDS[rule]]}")


@pytest.mark.parametrize(("field", "is_fixed"), [("y: Any = None", False), ("y: jax.Array", True)])
def test_what_may_be_of_another_structure_is_not_mapped_over(field: str, is_fixed: bool) -> None:
    assert is_changed("JAX508", COMPARED.format(field)) is is_fixed


@pytest.mark.parametrize(
    ("named", "field", "annotation", "written"),
    [
        ("old", "new", "jax.Array", 'data_fields=("w", "new"), meta_fields=("n",)'),
        ("old", "new", "str", 'data_fields=("w",), meta_fields=("n", "new")'),
        ("newnew", "new", "jax.Array", 'data_fields=("w", "new"), meta_fields=("n",)'),
    ],
)
def test_a_name_is_respelled_in_the_list_in_which_it_belongs(
    named: str, field: str, annotation: str, written: str
) -> None:
    program = LISTED.format(named, field, annotation)
    after, left = fix_source(HEAD + program, settings=Settings(select=("JAX104",)), unsafe=True)
    assert written in after
    assert not left


def test_a_class_that_methods_call_by_another_name_keeps_its_hook() -> None:
    assert is_changed("JAX308", CHECKED)
    again = '            raise ValueError("bad")\n\n    def moved(self):\n        return type(self)(lo=self.lo + 1)\n'
    assert not is_changed("JAX308", CHECKED.replace('            raise ValueError("bad")\n', again))


SEVERAL = """\
def both(i, j):
    row = jnp.zeros(3)
    {}
    return row


print(both(1, 1))
"""


@pytest.mark.parametrize("targets", ["row[i], row[j] = 1, 2", "row[i] = row[j] = 2"])
def test_of_two_items_that_are_one_the_last_counts(targets: str) -> None:
    """As in Python: one line for each follows, in the order of the targets."""
    program = HEAD + SEVERAL.format(targets)
    after, left = fix_source(program, settings=Settings(select=("JAX413",)))
    assert not left
    first, second = (after.index(f"row = row.at[{index}].set(") for index in "ij")
    assert first < second


EMPTY = """\
import equinox as eqx
import jax


class Cell(eqx.Module):
    scale: jax.Array
    shift: jax.Array
{init}

def change(cell: Cell, x):
    {before}
    cell.scale = x
    return cell
{behind}
"""
INIT = """
    def __init__(self, scale=None, shift=None):
        self.scale = scale
        self.shift = shift
"""
#: Where None comes from, and whether it is taken for a leaf, as `tree_at` finds none of two None otherwise.
GIVEN = {
    "assigned": ("", "cell.scale = None", "", True),
    "perhaps": ("", "cell.scale = None if x is None else 1", "", True),
    "in a tuple": ("", "cell.scale, cell.shift = x, None", "", True),
    "parameter": (INIT, "x = x + 1", "", True),
    "made here": ("", "cell = Cell(None, None)", "", True),
    "made elsewhere": ("", "x = x + 1", "\n\nprint(change(Cell(scale=None, shift=None), 1.0))", True),
    "elsewhere, another field": ("", "x = x + 1", "\n\nprint(change(Cell(scale=1.0, shift=None), 1.0))", False),
}


@pytest.mark.parametrize("where", GIVEN)
def test_what_may_be_none_is_a_leaf(where: str) -> None:
    init, before, behind, is_leaf = GIVEN[where]
    program = EMPTY.format(init=init, before=before, behind=behind)
    after, left = fix_source(program, settings=Settings(select=("JAX401",)))
    assert not left
    assert f"cell, x{', is_leaf=lambda x: x is None' if is_leaf else ''})" in after


EQUAL = """\
import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class Pair:
    x: jax.Array
    y: jax.Array


{}
def compare(a: Pair, b: Pair):
    {}
"""
LEAVES = "jax.tree.map(jnp.array_equal, a, b)"


@pytest.mark.parametrize(
    ("above", "before", "after"),
    [
        ("@jax.jit", "return a == b", f"return jax.tree.reduce(jnp.logical_and, {LEAVES})"),
        ("@jax.vmap", "return a != b", f"return jnp.logical_not(jax.tree.reduce(jnp.logical_and, {LEAVES}))"),
        ("@jax.jit", "return 1 if a == b else 2", None),
        ("# not traced", "return 1 if a == b else 2", f"return 1 if jax.tree.all({LEAVES}) else 2"),
    ],
)
def test_what_is_traced_is_not_asked_for_its_truth(above: str, before: str, after: str | None) -> None:
    text = EQUAL.format(above, before)
    assert fix_source(text, settings=Settings(select=("JAX508",)), unsafe=True)[0] == EQUAL.format(
        above, after or before
    )


def test_what_is_no_field_is_not_replaced() -> None:
    """A property with a setter, which a frozen class refuses, too."""
    program = """
import jax
from flax import struct


@struct.dataclass
class Box:
    half: jax.Array

    @property
    def size(self):
        return self.half * 2


box = Box(1.0)
box.size = 4.0
"""
    (found,) = fix_source(program, settings=Settings(select=("JAX401",)), unsafe=True)[1]
    assert found.help == "make a copy with another value of the field that `size` is computed from"


@pytest.mark.parametrize(("user", "is_fixed"), [("from a import S, f", False), ("from a import f", True)])
def test_what_other_modules_import_stays(user: str, is_fixed: bool, tmp_path: Path) -> None:
    """A variable of the module is not bound to a copy where another module goes on with the original."""
    kept = "import jax\nfrom flax import struct\n\n\n@struct.dataclass\nclass State:\n    x: int\n\n\n"
    kept += "S = State(1)\n\n\ndef f() -> None:\n    S.x = 2\n"
    (tmp_path / "a.py").write_text(kept)
    (tmp_path / "b.py").write_text(f"{user}\n\nf()\n")
    fix_paths([str(tmp_path)], Settings(select=("JAX401",)), unsafe=True)
    assert ((tmp_path / "a.py").read_text() != kept) is is_fixed


@pytest.mark.parametrize(
    ("given", "named"), [("1, 2", "x=1, n=2"), ("1, *[2]", None), ("1, n=2, **{}", "x=1, n=2, **{}")]
)
def test_what_cannot_be_named_stays(given: str, named: str | None) -> None:
    """A positional argument that is named would still be given by `*`."""
    text = "import chex\n\n\n@chex.dataclass\nclass S:\n    x: int\n    n: int = 0\n\n\ns = S({})\n"
    after, left = fix_source(text.format(given), settings=Settings(select=("JAX311",)))
    assert after == text.format(named or given)
    assert len(left) == (named is None)


@pytest.mark.parametrize(("update", "after"), [("q.at[0].set(v)", "q = q.at[0].set(v)"), ("q[0] = v", "q[0] = v")])
def test_what_a_method_begins_with_stays(update: str, after: str) -> None:
    """An update that was discarded never changed the attribute that the variable was taken from; an item might."""
    program = """\
import jax.numpy as jnp


class Env:
    def prepare(self):
        self.start = jnp.zeros(4)
        self.scale = 2.0

    def reset(self, v):
        q = self.start
        {}
        return jnp.sum(q) * self.scale
"""
    settings = Settings(select=("JAX403", "JAX413"))
    assert fix_source(program.format(update), settings=settings, unsafe=True)[0] == program.format(after)


def test_the_instance_of_a_method_that_returns_a_copy_stays() -> None:
    """What it took from an attribute goes into the copy, and is not put back: a tracer would stay there."""
    program = """\
from typing import NamedTuple

import jax


class Data(NamedTuple):
    obs: jax.Array


@jax.tree_util.register_pytree_node_class
class Buffer:
    def __init__(self, data: Data, end):
        self.data = data
        self.end = end

    def tree_flatten(self):
        return (self.data, self.end), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

    def add(self, x) -> "Buffer":
        data = self.data
        data.obs[self.end] = x
        return Buffer(data, self.end + 1)
"""
    after, left = fix_source(program, settings=Settings(select=("JAX413",)), unsafe=True)
    copied = "data = data._replace(obs=data.obs.at[self.end].set(x))"
    assert after == program.replace("data.obs[self.end] = x", copied) and not left
