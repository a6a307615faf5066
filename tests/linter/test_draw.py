"""`jaxlint tree`: the pytree of a class as text."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from jaxlint.config.settings import Settings
from jaxlint.errors import UserError
from jaxlint.linter.draw import draw_tree
from jaxlint.syntax.source import Unreadable

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


def test_fields_are_drawn_in_the_order_of_flattening(folder: Path) -> None:
    assert draw_tree("main.py", "State", Settings()) == drawn(
        """
        State  flax.struct.dataclass  main.py:9
          frozen; rebuilding calls the constructor; leaves in declaration order; copied with changes by .replace()
          ├─ leaf     x: jax.Array  (from Base, base.py:13)
          ├─ leaf     log: Log
          │  ├─ leaf     loss: jax.Array
          │  └─ leaf     step: int
          ├─ leaf     scale: float = float()
          └─ static   net: Callable
        """
    )


def test_an_undecorated_subclass_is_one_leaf(folder: Path) -> None:
    assert draw_tree("main.py", "Plain", Settings()).splitlines()[1] == (
        "  frozen; not registered: one opaque leaf (decorate the class too); rebuilding calls the constructor;"
        " leaves in declaration order; copied with changes by .replace()"
    )


def test_fields_of_a_described_class(folder: Path) -> None:
    lines = draw_tree("main.py", "Train", Settings()).splitlines()
    assert lines[2] == "  ├─ leaf     step: int | jax.Array  (from TrainState, flax.training.train_state)"
    assert lines[-1] == "  └─ static   epoch: int = 0"


def test_all_classes_of_a_file(folder: Path) -> None:
    heads = [line for line in draw_tree("base.py", None, Settings()).splitlines() if line[:1].strip()]
    assert heads == ["Log  chex.dataclass  base.py:7", "Base  flax.struct.dataclass  base.py:12"]


def test_a_class_that_holds_itself_ends(folder: Path) -> None:
    text = "import equinox as eqx\nclass Node(eqx.Module):\n    left: 'Node'\n    value: int\n"
    (folder / "node.py").write_text(text)
    assert draw_tree("node.py", "Node", Settings()).count("left") == 1


@pytest.mark.parametrize(
    ("path", "name", "message"),
    [
        ("main.py", "Stat", "main.py: there is no class `Stat`; did you mean `State`?"),
        ("main.py", "Zebra", "main.py: there is no class `Zebra`"),
        (".", None, ".: is a folder; name a file"),
        ("empty.py", None, "empty.py: there is no pytree class in this file"),
    ],
)
def test_mistakes_are_one_line(folder: Path, path: str, name: str | None, message: str) -> None:
    (folder / "empty.py").write_text("")
    with pytest.raises(UserError) as error:
        draw_tree(path, name, Settings())
    assert str(error.value) == message


def test_a_file_that_cannot_be_parsed(folder: Path) -> None:
    (folder / "broken.py").write_text("class A(:\n")
    with pytest.raises(Unreadable):
        draw_tree("broken.py", None, Settings())
