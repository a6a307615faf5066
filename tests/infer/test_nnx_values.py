"""What attributes of nnx modules are drawn as, compared with what flax makes of them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from jaxlint.config.configuration import Configuration
from jaxlint.libraries.nnx import DATA, NO_DATA, TREES
from jaxlint.linter.draw import Target, draw
from tests.needs import needs

needs("flax")

PROGRAM = """
import jax
import jax.numpy as jnp
from flax import nnx

class Block(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)

class Net(nnx.Module):
    def __init__(self, size: int, rngs: nnx.Rngs, name=None):
        self.head = Block(rngs)
        self.more = nnx.List([Block(rngs)])
        self.scale = nnx.Param(jnp.ones(3))
        self.count, self.offset = 0, jnp.zeros(3)
        self.act = lambda x: x
        self.shape = (3, size)
        self.size = size
        self.name = name
        self.rngs = rngs
        self.mode: str = "train"
        self.relu, self.tanh = nnx.relu, jnp.tanh
        self.dtype = jnp.float32

class Deep(Net):
    def __init__(self, rngs):
        super().__init__(2, rngs)
        self.tail = nnx.Dropout(0.5, rngs=rngs)
"""


@pytest.fixture
def nnx() -> Any:
    """The real `flax.nnx`."""
    return importlib.import_module("flax.nnx")


def test_the_classes_that_are_said_to_be_data_are(nnx: Any) -> None:
    for name in DATA:
        cls = getattr(nnx, name.rpartition(".")[2], None)
        assert cls is None or issubclass(cls, (nnx.Pytree, nnx.Variable)), name  # None: another version of flax
        assert cls is None or issubclass(cls, nnx.Variable) is (name not in TREES), name


@pytest.mark.parametrize(
    "module",
    ["flax.nnx", "flax.linen", "jax", "jax.lax", "jax.nn", "jax.nn.initializers", "jax.numpy", "numpy", "optax"],
)
def test_no_module_holds_data_itself(module: str, nnx: Any) -> None:
    loaded = importlib.import_module(module)
    assert module.partition(".")[0] in NO_DATA
    assert [name for name in dir(loaded) if not name.startswith("_") and nnx.is_data(getattr(loaded, name))] == []


def test_attributes_are_drawn_as_flax_takes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nnx: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(PROGRAM)
    classes = draw([Target("net.py")], Configuration(isolated=True)).classes
    roles = {field.name: field.role for field in classes["net.py::Deep"].fields}
    namespace: dict[str, type] = {}
    exec(PROGRAM, namespace)
    made = vars(namespace["Deep"](nnx.Rngs(0)))
    is_data = {name: nnx.is_data(value) for name, value in made.items() if name in roles}
    assert roles.keys() == is_data.keys() and len(roles) == 15
    assert {name for name, role in roles.items() if role == "unknown"} == {"name"}
    assert {name for name, role in roles.items() if role == "leaf"} == {name for name, data in is_data.items() if data}
    trees = {field.name for field in classes["net.py::Deep"].fields if field.kind == "subtree"}
    assert trees == {name for name, value in made.items() if name in roles and isinstance(value, nnx.Pytree)}
    (held,) = (field.holds for field in classes["net.py::Deep"].fields if field.name == "head")
    assert [field.name for field in classes[held].fields] == ["linear"]
