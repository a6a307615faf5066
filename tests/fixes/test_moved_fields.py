"""A field that is declared further up takes along what describes it, and stays where what it needs is declared."""

from __future__ import annotations

import pytest

from jaxlint.fixes.running import fix_source

HEAD = "import jax\nfrom flax import struct\n\n\n@struct.dataclass\nclass S:\n"
COUNT = "    n: int = 0  # how many\n"
MOVED = {
    "    x: jax.Array\n": "    x: jax.Array\n" + COUNT,
    "    x: jax.Array\n    '''What it is.'''\n": "    x: jax.Array\n    '''What it is.'''\n" + COUNT,
    "    'Steps.'\n    x: jax.Array\n": "    x: jax.Array\n" + COUNT + "    'Steps.'\n",
    "\n    # what it is\n    x: jax.Array\n    '''It\n    is.'''\n\n    y: int = 1\n": (
        "\n    # what it is\n    x: jax.Array\n    '''It\n    is.'''\n" + COUNT + "\n    y: int = 1\n"
    ),
    "    Pair = dict[str, int]\n    x: Pair\n": None,
    "    class Pair:\n        pass\n    x: 'Pair'\n": ("    x: 'Pair'\n" + COUNT + "    class Pair:\n        pass\n"),
    "    x: jax.Array; y: jax.Array\n": None,
}


@pytest.mark.parametrize("below", MOVED)
def test_fields_that_are_moved(below: str) -> None:
    expected = MOVED[below]
    after, left = fix_source(HEAD + COUNT + below)
    assert after == HEAD + (COUNT + below if expected is None else expected)
    assert [finding.code for finding in left] == (["JAX114"] * below.count("x:") if expected is None else [])
