"""`jaxlint tree`: the pytree of a class as text."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from jaxlint.config.configuration import Configuration
from jaxlint.errors import UserError
from jaxlint.linter.draw import Target, draw
from jaxlint.report.drawing import Drawing
from jaxlint.report.tree_text import text

BASE = """
import chex
from flax import struct
import jax

@chex.dataclass
class Log:
    step: int
    loss: jax.Array

@struct.dataclass
class Base:
    x: jax.Array
"""
MAIN = """
from flax import struct
from flax.training.train_state import TrainState
from typing import Callable
from base import Base, Log
import jax

@struct.dataclass
class State(Base):
    log: Log
    net: Callable = struct.field(pytree_node=False)
    scale: float = struct.field(default_factory=float)

class Plain(Base):
    y: int = 0

class Train(TrainState):
    epoch: int = struct.field(pytree_node=False, default=0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "base.py").write_text(BASE)
    (tmp_path / "main.py").write_text(MAIN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def drawn(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def drawing(*targets: str | tuple[str, str], sources: bool = False) -> Drawing:
    asked = [Target(one) if isinstance(one, str) else Target(*one) for one in targets]
    return draw(asked, Configuration(isolated=True), sources=sources)


def draw_tree(path: str, class_name: str | None = None) -> str:
    return text(drawing((path, class_name) if class_name else path))


def test_fields_are_drawn_in_the_order_of_flattening(folder: Path) -> None:
    assert draw_tree("main.py", "State") == drawn(
        """
        State  flax.struct.dataclass  main.py:9
          frozen; rebuilding calls the constructor; leaves in declaration order; copied with changes by .replace()
          ├─ leaf     x: jax.Array  (from Base, base.py:13)
          ├─ subtree  log: Log
          │  ├─ leaf     loss: jax.Array
          │  └─ leaf     step: int
          ├─ leaf     scale: float = float()
          └─ static   net: Callable
        """
    )


def test_an_undecorated_subclass_is_one_leaf(folder: Path) -> None:
    assert draw_tree("main.py", "Plain").splitlines()[1] == (
        "  frozen; not registered: one opaque leaf (decorate the class too); rebuilding calls the constructor;"
        " leaves in declaration order; copied with changes by .replace()"
    )


def test_fields_of_a_described_class(folder: Path) -> None:
    lines = draw_tree("main.py", "Train").splitlines()
    assert lines[2] == "  ├─ leaf     step: int | jax.Array  (from TrainState, flax.training.train_state)"
    assert lines[-1] == "  └─ static   epoch: int = 0"


def test_what_is_named_a_tree_is_a_subtree(folder: Path) -> None:
    (folder / "trees.py").write_text(
        "import jax, optax\nfrom flax import core, struct\nfrom flax.core import FrozenDict\n\n"
        "@struct.dataclass\nclass State:\n    params: core.FrozenDict[str, jax.Array]\n    frozen: FrozenDict\n"
        "    opt: optax.OptState\n    cache: dict | None\n    x: jax.Array | None\n"
    )
    (state,) = draw([Target("trees.py")], Configuration(isolated=True)).drawn()
    assert [field.kind for field in state.fields] == ["subtree"] * 4 + ["leaf"]


def test_layers_of_equinox_that_cannot_be_read_are_subtrees_without_fields(folder: Path) -> None:
    """One description stands for all of them: no one need have the fields that it lists."""
    (folder / "cells.py").write_text(
        "import equinox as eqx\nimport jax\n\n"
        "class Cell(eqx.Module):\n    drop: eqx.nn.Dropout\n    mlp: eqx.nn.MLP | None\n\n"
        "class Scaled(eqx.nn.Linear):\n    scale: jax.Array\n"
    )
    assert draw_tree("cells.py") == drawn(
        """
        Cell  equinox.Module  cells.py:4
          frozen; rebuilding sets the fields, runs no user code; leaves in declaration order
          ├─ subtree  drop: eqx.nn.Dropout
          └─ subtree  mlp: eqx.nn.MLP | None

        Scaled  equinox.Module  cells.py:8
          frozen; rebuilding sets the fields, runs no user code; leaves in declaration order
          └─ leaf     scale: jax.Array
          (there may be more fields: a base class or a part of the class cannot be seen)
        """
    )
    assert list(drawing("cells.py").classes) == ["cells.py::Cell", "cells.py::Scaled"]


NODES = """
import simple_pytree
from elsewhere import Unknown
from jax.tree_util import register_pytree_node_class

@register_pytree_node_class
class Node:
    def __init__(self, x):
        self.x = x

    def tree_flatten(self):
        return (self.x,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

class Sub(Node):
    pass

@register_pytree_node_class
class Hidden(Node, Unknown):
    pass

class Simple(simple_pytree.Pytree):
    def __init__(self, x):
        self.x = x
"""


def test_why_more_than_what_is_drawn_may_be_there(folder: Path) -> None:
    (folder / "nodes.py").write_text(NODES)
    found = drawing("nodes.py")
    assert {cls.name: (cls.complete, cls.missing) for cls in found.drawn()} == {
        "Node": (False, "its own code flattens instances: what that computes is not drawn"),
        "Sub": (False, ""),
        "Hidden": (False, "there may be more fields: a base class or a part of the class cannot be seen"),
        "Simple": (False, "there may be more fields: whatever is assigned to an instance is one"),
    }


def test_all_classes_of_a_file(folder: Path) -> None:
    heads = [line for line in draw_tree("base.py").splitlines() if line[:1].strip()]
    assert heads == ["Log  chex.dataclass  base.py:7", "Base  flax.struct.dataclass  base.py:12"]


def test_a_class_that_holds_itself_ends(folder: Path) -> None:
    text = "import equinox as eqx\nclass Node(eqx.Module):\n    left: 'Node'\n    value: int\n"
    (folder / "node.py").write_text(text)
    assert draw_tree("node.py", "Node").count("left") == 1


@pytest.mark.parametrize(
    ("path", "name", "message"),
    [
        ("main.py", "Stat", "main.py: there is no class `Stat`; did you mean `State`?"),
        ("main.py", "Zebra", "main.py: there is no class `Zebra`"),
        ("empty.py", None, "empty.py: there is no pytree class here"),
    ],
)
def test_mistakes_are_one_line(folder: Path, path: str, name: str | None, message: str) -> None:
    (folder / "empty.py").write_text("")
    with pytest.raises(UserError) as error:
        draw_tree(path, name)
    assert str(error.value) == message


def test_a_file_that_cannot_be_parsed(folder: Path) -> None:
    (folder / "broken.py").write_text("class A(:\n")
    with pytest.raises(UserError, match=r"^broken\.py:1:9: "):
        draw_tree("broken.py")


def test_a_folder_is_drawn_with_all_its_files(folder: Path) -> None:
    (folder / "broken.py").write_text("from flax import struct\nclass A(:\n")
    (folder / "plain.py").write_text("class A:\n    x: int\n")
    found = drawing(".")
    assert found.chosen == ("base.py::Log", "base.py::Base", "main.py::State", "main.py::Plain", "main.py::Train")
    assert [(finding.code, str(finding.at)) for finding in found.elsewhere] == [("JAX001", "broken.py:2")]


def test_what_leaves_hold_comes_along_once(folder: Path) -> None:
    found = drawing(("main.py", "State"))
    assert found.chosen == ("main.py::State",)
    assert list(found.classes) == ["main.py::State", "base.py::Log"]
    assert [field.holds for field in found.classes["main.py::State"].fields] == ["", "base.py::Log", "", ""]


USES = """
from flax import struct
import jax
import jax.numpy as jnp

@struct.dataclass
class State:
    x: jax.Array
    table: jax.Array = struct.field(pytree_node=False)
    step: int = struct.field(pytree_node=False, default=0)

    def twice(self):
        self.x = self.x * 2
        return self

class Sub(State):
    pass

@jax.jit
def step(state: State):
    state.step = 3
    return state

@jax.jit
def scale(state: State):
    state.replace(x=state.x * 2)
    return state
"""


def test_findings_are_pinned_on_the_fields_that_they_are_about(folder: Path) -> None:
    (folder / "uses.py").write_text(USES)
    found = drawing("uses.py")
    fields = {field.name: field for field in found.classes["uses.py::State"].fields}
    pinned = {name: [(finding.code, finding.at.row) for finding in field.findings] for name, field in fields.items()}
    assert pinned == {"x": [("JAX401", 13)], "table": [("JAX201", 9)], "step": [("JAX401", 21)]}
    assert [finding.code for finding in found.elsewhere] == ["JAX403"]
    inherited = {field.name: field for field in found.classes["uses.py::Sub"].fields}["table"]
    assert (inherited.owner, [finding.code for finding in inherited.findings]) == ("State", ["JAX201"])
    assert "   ! JAX401 line 21: " in text(found)
    assert text(found).splitlines()[-2] == "Found in other code"


ROWS = """
import dataclasses
import jax
import jax.numpy as jnp
from jax.tree_util import register_pytree_node_class

@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Row:
    é: str = dataclasses.field(default="ééé", metadata={"static": True}); x: jax.Array = jnp.zeros(3); y: list = []

@register_pytree_node_class
class Model:
    def __init__(self, transition, observation, options):
        self.transition, self.observation, self.options = transition, observation, options

    def tree_flatten(self):
        return (self.transition,), (self.observation, self.options)

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children, *aux)

model = Model(jnp.eye(2), jnp.ones(2), {})
jax.jit(lambda model: model.transition)(model)
"""


def test_of_fields_in_one_row_only_the_one_that_a_finding_is_about_has_it(folder: Path) -> None:
    (folder / "rows.py").write_text(ROWS, encoding="utf-8")
    classes = drawing("rows.py").classes.values()
    pinned = {f.name: [one.code for one in f.findings] for cls in classes for f in cls.fields if f.findings}
    assert pinned == {"x": ["JAX301"], "y": ["JAX301"], "observation": ["JAX201"]}


def test_findings_that_comments_hide_are_not_pinned(folder: Path) -> None:
    (folder / "uses.py").write_text(USES.replace("state.step = 3", "state.step = 3  # noqa: JAX401"))
    fields = {field.name: field for field in drawing(("uses.py", "State")).classes["uses.py::State"].fields}
    assert fields["step"].findings == ()


def test_rows_of_classes_and_findings_come_along_if_asked_for(folder: Path) -> None:
    (folder / "uses.py").write_text(USES)
    rows = drawing("uses.py", sources=True).sources["uses.py"]
    assert rows[6] == "@struct.dataclass" and rows[21] == "    state.step = 3"
    assert not drawing("uses.py").sources


def test_a_class_is_drawn_with_what_is_found_about_it_in_other_files(folder: Path) -> None:
    (folder / "parts.py").write_text(
        "import jax\nfrom flax import struct\n\n@struct.dataclass\nclass Part:\n    w: jax.Array\n"
        "    a: jax.Array = struct.field(pytree_node=False)\n"
    )
    (folder / "model.py").write_text(
        "import jax\nimport jax.numpy as jnp\nfrom flax import struct\nfrom parts import Part\n\n"
        "@struct.dataclass\nclass Model:\n    part: Part\n    layers: list\n"
        "    start: jax.Array = struct.field(default_factory=lambda: jnp.ones(4))\n"
    )
    (folder / "use.py").write_text(
        "import model\n\ndef run(one: model.Model):\n    one.start = 1\n\ndef more(text):\n    text.replace(1)\n"
    )
    (folder / "other.py").write_text("from flax import struct\n\n@struct.dataclass\nclass Other:\n    a: list = []\n")
    lines = draw_tree("model.py", "Model").splitlines()
    assert [line.split(":", 1)[0] for line in lines[2:]] == [
        "  ├─ subtree  part",
        "  │  ├─ leaf     w",
        "  │  └─ static   a",
        "  │     ! JAX201 parts.py",
        "  ├─ subtree  layers",
        "  └─ leaf     start",
        "     ! JAX401 use.py",
    ]
    assert lines[-2].endswith("start: jax.Array = (lambda: jnp.ones(4))()")
    assert draw_tree("model.py").splitlines() == lines
