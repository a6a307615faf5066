"""What a run has to load: libcst only where something is found and shown; its matchers, which load slowest, never."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEADER = "import jax\nfrom flax import struct\n\n@struct.dataclass\nclass A:\n    x: jax.Array\n\n"
PROGRAMS = {
    "def f(a: A) -> A:\n    return a.replace(x=a.x + 1)\n": [],
    "def f(a: A) -> None:\n    del a.x  # jaxlint: ignore\n": [],
    "def f(a: A) -> None:\n    a.x = 1  # noqa: JAX401\n": [],
    "def f(a: A) -> None:\n    del a.x\n": ["libcst"],
    "def f(a: A) -> A:\n    a = a.replace(x=a.x + 1)\n    print(a.x)\n    return A(a.x)\n": [],
    "def f(a: A):\n    if a.x:\n        a = a.replace(x=a.x + 1)\n        return 1, a\n    raise ValueError\n": [],
    "@jax.jit\ndef f(a: A) -> A:\n    b = a.replace(x=a.x + 1)\n    return b\n": [],
    "def f(a: A) -> None:\n    a = a.replace(x=a.x + 1)\n": ["libcst"],
    "def f(a: A) -> A:\n    a.x = a.x + 1\n    return a\n": ["libcst"],
    "def f(a: A) -> None:\n    a.replace(x=a.x + 1)\n": ["libcst"],
    "f = jax.jit(lambda a, b: b, donate_argnums=(0,))\ndef g(a: A):\n    b = a\n    b.x = 1\n    return b\n": [
        "libcst"
    ],
}


@pytest.mark.parametrize("text", PROGRAMS)
def test_libcst_is_loaded_where_something_is_found(text: str) -> None:
    code = (
        "import sys\nfrom jaxlint import check_source\n"
        f"check_source({HEADER + text!r})\n"
        "print(sorted({'libcst', 'libcst.matchers'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr(PROGRAMS[text])
