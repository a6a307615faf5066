"""What `jaxlint/libraries` says, compared with the libraries as they are installed."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

from jaxlint.libraries.arrays import ARRAY_REDUCTIONS
from jaxlint.libraries.standard import WITH_REPLACE
from jaxlint.libraries.trees import TREE_FLATTEN, TREE_LEAVES, TREE_MAPS
from tests.needs import needs

needs("jax")


def named(name: str) -> Any:
    """What a dotted name means, or None where this version has no such name."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last, None)


@pytest.mark.parametrize(
    ("names", "does"),
    [
        (TREE_MAPS, lambda function: function(lambda leaf: leaf + 1, {"a": 1}) == {"a": 2}),
        (TREE_LEAVES, lambda function: function({"a": 1}) == [1]),
        (TREE_FLATTEN, lambda function: function({"a": 1})[0] == [1]),
    ],
)
def test_functions_of_trees(names: frozenset[str], does: Any) -> None:
    found = {name: named(name) for name in names}
    assert sum(function is not None for function in found.values()) >= 2
    assert all(does(function) for function in found.values() if function is not None)


@pytest.mark.parametrize("name", sorted(ARRAY_REDUCTIONS))
def test_methods_that_reduce_to_one_element(name: str) -> None:
    ones = named("jax.numpy.ones")((2, 3))
    assert getattr(ones, name)().ndim == 0


@pytest.mark.parametrize("module", sorted(WITH_REPLACE - {"pendulum"}))
def test_modules_with_another_replace(module: str) -> None:
    classes = [one for one in vars(importlib.import_module(module)).values() if inspect.isclass(one)]
    assert any(callable(getattr(one, "replace", None)) for one in classes)
