"""Where an import that a fix needs is added."""

from __future__ import annotations

import pytest

from jaxlint import fix_source
from jaxlint.cst.changes import NeededImport
from jaxlint.cst.edits import applied
from jaxlint.cst.imports import import_edit
from jaxlint.symbols.parsing import outline_of
from jaxlint.syntax.source import Source

BELOW = "\n\ndef f(x):\n    return x\n\n\nimport late\n"
SYSTEM = "import sys\n\nsys.path.insert(1, 'src')\n"
#: The top of a module, and what it is with an import of the standard library and one of another package.
CASES = {
    # one row of imports: by name, the standard library first
    "import re\n\nimport numpy\n": "import dataclasses\nimport re\n\nimport jax.numpy as jnp\nimport numpy\n",
    "from __future__ import annotations\n": (
        "from __future__ import annotations\n\nimport dataclasses\n\nimport jax.numpy as jnp\n"
    ),
    # what makes packages known, or sets them up, stays before them
    SYSTEM + "import optax\n": "import dataclasses\n" + SYSTEM + "import jax.numpy as jnp\nimport optax\n",
    "import os\n\nos.environ['X'] = '1'\nimport jax\n": (
        "import dataclasses\nimport os\n\nos.environ['X'] = '1'\nimport jax\nimport jax.numpy as jnp\n"
    ),
    "import numpy\n\nprint(1)\nimport jax\n\nprint(2)\nimport optax\n": (
        "import dataclasses\n\nimport numpy\n\nprint(1)\nimport jax\nimport jax.numpy as jnp\n\n"
        "print(2)\nimport optax\n"
    ),
    # no other library is imported
    "import sys\n\nprint(sys)\n": "import dataclasses\nimport sys\n\nimport jax.numpy as jnp\n\nprint(sys)\n",
    # what is set first has no import above it
    "__version__ = '1'\n\nimport jax\n": (
        "__version__ = '1'\n\nimport dataclasses\n\nimport jax\nimport jax.numpy as jnp\n"
    ),
}


def added(text: str, needed: NeededImport, row: int) -> str:
    source = Source.from_text("m.py", text)
    return applied(text, [import_edit(needed, source, outline_of(text), row)])


@pytest.mark.parametrize("top", CASES)
def test_place(top: str) -> None:
    text = top + BELOW
    for needed in (NeededImport("dataclasses"), NeededImport("jax.numpy", None, "jnp")):
        text = added(text, needed, len(text.splitlines()) - 4)
    assert text == CASES[top] + BELOW


def test_above_what_needs_it() -> None:
    text = "import os\n\nx = 1\nimport jax\n"
    assert added(text, NeededImport("jax.numpy", None, "jnp"), 3) == (
        "import os\n\nimport jax.numpy as jnp\n\nx = 1\nimport jax\n"
    )


def test_in_a_fix() -> None:
    top = "import sys\nsys.path.insert(1, 'src')\nimport chex\nfrom jax.numpy import zeros\n"
    text = top + "\n\n@chex.dataclass\nclass State:\n    a: chex.Array = zeros(3)\n"
    after, _ = fix_source(text, unsafe=True)
    assert after == "import dataclasses\n" + text.replace(
        "zeros(3)", "dataclasses.field(default_factory=lambda: zeros(3))"
    )
