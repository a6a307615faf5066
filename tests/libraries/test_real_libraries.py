"""What `jaxlint/libraries` says, compared with the libraries as they are installed."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

from jaxlint.libraries.arrays import ARRAY_REDUCTIONS, OF_LAX
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


def _given_to_lax(name: str) -> tuple[Any, ...]:
    """Arguments for a function of jax.lax, which need be no arrays of jax."""
    import numpy as np

    row, matrix = np.ones(3, np.float32), np.ones((3, 3), np.float32)
    bits = np.ones(3, np.int32)
    several: dict[str, tuple[Any, ...]] = {
        **dict.fromkeys(("argmax", "argmin"), (row, 0, np.int32)),
        **dict.fromkeys(("broadcast", "expand_dims", "rev", "squeeze"), (row, ())),
        **dict.fromkeys(("convert_element_type", "bitcast_convert_type"), (row, np.float32)),
        **dict.fromkeys(("dynamic_index_in_dim", "index_in_dim", "collapse"), (matrix, 0)),
        **dict.fromkeys(("dynamic_slice_in_dim", "slice_in_dim"), (row, 0, 3)),
        **dict.fromkeys(("imag", "real"), (row + 0j,)),
        **dict.fromkeys(("select", "select_n"), (row > 0, row, row)),
        "batch_matmul": (matrix[None], matrix[None]),
        "betainc": (row, row, row),
        "broadcast_in_dim": (row, (3,), (0,)),
        "broadcast_to_rank": (row, 1),
        "broadcasted_iota": (np.float32, (3,), 0),
        "clamp": (0.0, row, 2.0),
        "concatenate": ([row], 0),
        "dot_general": (matrix, matrix, (((1,), (0,)), ((), ()))),
        "dynamic_slice": (row, (0,), (3,)),
        "dynamic_update_index_in_dim": (matrix, row, 0, 0),
        "dynamic_update_slice": (row, row, (0,)),
        "dynamic_update_slice_in_dim": (row, row, 0, 0),
        "fft": (row + 0j, "FFT", (3,)),
        "full": ((3,), 1.0),
        "full_like": (row, 1.0),
        "integer_pow": (row, 2),
        "iota": (np.float32, 3),
        "pad": (row, 0.0, [(0, 0, 0)]),
        "reduce_precision": (row, 8, 23),
        "reshape": (row, (3,)),
        "slice": (row, (0,), (3,)),
        "tile": (row, (1,)),
        "transpose": (matrix, (0, 1)),
    }
    if name in several:
        return several[name]
    one = bits if name.startswith(("bitwise", "shift", "clz", "population")) else row
    takes = [p for p in inspect.signature(named(f"jax.lax.{name}")).parameters.values() if p.default is p.empty]
    return (one,) * len([p for p in takes if p.kind is not p.KEYWORD_ONLY])


@pytest.mark.parametrize("name", sorted(OF_LAX))
def test_functions_of_lax_make_one_array(name: str) -> None:
    function = named(f"jax.lax.{name}")
    if function is None:
        pytest.skip("not in this version")
    assert isinstance(function(*_given_to_lax(name)), named("jax.Array"))
