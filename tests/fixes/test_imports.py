"""Imports that nothing needs after a fix are taken out; what may be there for something else stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxlint.config.settings import Settings
from jaxlint.cst.edits import applied
from jaxlint.fixes.imports import unused_imports
from jaxlint.fixes.running import fix_paths, fix_source

PROGRAM = """\
{imports}
import jax
from flax import struct


@struct.dataclass
class State:
    w: jax.Array


@{partial}(jax.jit, donate_argnums=0)
def step(state: State, x: jax.Array) -> State:
    return state.replace(w=state.w + x)


def train(state: State, x: jax.Array):
    new = step(state, x)
    return new, state.w
"""


@pytest.mark.parametrize(
    ("imports", "partial", "left"),
    [
        ("from functools import partial\n", "partial", ""),
        ("import functools\n", "functools.partial", ""),
        ("import functools as ft\n", "ft.partial", ""),
        ("import functools\nimport os\n", "functools.partial", "import os\n"),
        ("from functools import partial, wraps\n", "partial", "from functools import wraps\n"),
        (
            "from functools import (\n    cache,\n    partial,\n)\n",
            "partial",
            "from functools import (\n    cache,\n)\n",
        ),
        ("from functools import partial  # noqa: F401\n", "partial", None),
        ('from functools import partial\n__all__ = ["partial"]\n', "partial", None),
        ("try:\n    from functools import partial\nexcept ImportError:\n    raise\n", "partial", None),
        ("from .helpers import partial\n", "partial", None),
    ],
)
def test_an_import_goes_with_what_needed_it(tmp_path: Path, imports: str, partial: str, left: str | None) -> None:
    before = PROGRAM.format(imports=imports, partial=partial)
    (tmp_path / "helpers.py").write_text("from functools import partial\n")
    path = tmp_path / "main.py"
    path.write_text(before)
    done = fix_paths([str(path)], Settings(select=("JAX509",)), unsafe=True)
    assert done.result.findings == [] and len(done.fixed) == 1
    expected = before.replace(f"@{partial}(jax.jit, donate_argnums=0)", "@jax.jit")
    assert path.read_text() == (
        expected if left is None else expected.replace(imports + "\n", left + "\n" if left else "")
    )


@pytest.mark.parametrize(
    "other", ["from main import partial\n", "import main\nprint(main.partial)\n", "from main import *\n"]
)
def test_what_another_module_takes_stays(tmp_path: Path, other: str) -> None:
    before = PROGRAM.format(imports="from functools import partial\n", partial="partial")
    (tmp_path / "main.py").write_text(before)
    (tmp_path / "other.py").write_text(other)
    fix_paths([str(tmp_path)], Settings(select=("JAX509",)), unsafe=True)
    after = (tmp_path / "main.py").read_text()
    assert "@jax.jit\n" in after and "from functools import partial" in after


def test_an_import_that_was_unused_before_stays() -> None:
    before = "import os\n" + PROGRAM.format(imports="from functools import partial\n", partial="partial")
    after, _ = fix_source(before, settings=Settings(select=("JAX509",)), unsafe=True)
    assert after.startswith("import os\n") and "functools" not in after


def test_several_names_at_once() -> None:
    before = "from functools import cache, partial, wraps\nprint(cache, partial, wraps)\n"
    after = "from functools import cache, partial, wraps\nprint(cache)\n"
    edits = unused_imports(before, after, lambda name: False)
    assert applied(after, edits) == "from functools import cache\nprint(cache)\n"


def test_a_decorator_that_is_not_needed_is_not_imported(tmp_path: Path) -> None:
    """A dataclass without fields of its own is registered alone: `dataclasses` is not imported for that."""
    (tmp_path / "base.py").write_text(
        "import jax\nfrom dataclasses import dataclass\n\n\n"
        "@dataclass\n@jax.tree_util.register_pytree_node_class\nclass Problem:\n    x: jax.Array\n\n"
        "    def tree_flatten(self):\n        return (self.x,), None\n\n"
        "    @classmethod\n    def tree_unflatten(cls, aux, children):\n        return cls(*children)\n"
    )
    text = (
        "import jax\n\nfrom base import Problem\n\n\n"
        "class Plate(Problem):\n    def twice(self):\n        return 2 * self.x\n\n\n"
        "def run():\n    return jax.jit(lambda p: p.x)(Plate(jax.numpy.ones(2)))\n"
    )
    (tmp_path / "main.py").write_text(text)
    done = fix_paths([str(tmp_path)], Settings(select=("JAX101",)), unsafe=True)
    assert [finding.code for finding in done.fixed] == ["JAX101"]
    decorated = "@jax.tree_util.register_pytree_node_class\nclass Plate"
    assert (tmp_path / "main.py").read_text() == text.replace("class Plate", decorated)
