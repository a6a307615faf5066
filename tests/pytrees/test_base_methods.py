"""The methods that instances have from a framework's base class are those that the library gives it."""

from __future__ import annotations

import dataclasses
import importlib

import pytest

from jaxlint.pytrees.framework import Framework
from jaxlint.pytrees.frameworks.equinox import EQUINOX
from jaxlint.pytrees.frameworks.flax_struct import FLAX_NODE
from jaxlint.pytrees.frameworks.nnx import NNX
from jaxlint.pytrees.frameworks.penzai import PENZAI

BASES = [
    (PENZAI, "penzai.pz", "Struct"),
    (NNX, "flax.nnx", "Module"),
    (EQUINOX, "equinox", "Module"),
    (FLAX_NODE, "flax.struct", "PyTreeNode"),
]


@pytest.mark.parametrize(("framework", "module", "name"), BASES, ids=[framework.id for framework, *_ in BASES])
def test_what_a_base_class_gives(framework: Framework, module: str, name: str) -> None:
    base = getattr(importlib.import_module(module), name)
    given = {name for name in dir(base) if not name.startswith("_")}
    field_names = {field.name for field in dataclasses.fields(base)} if dataclasses.is_dataclass(base) else set()
    declared = set(framework.base_methods) | {framework.replace_method}
    assert given - field_names - declared == set()
    assert set(framework.base_methods) <= given
