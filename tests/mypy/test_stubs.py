"""The partial stubs for flax.struct, jax_dataclasses and chex, with the type checkers that are installed here."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mypy.run import ROOT
from tests.needs import needs
from tests.patience import PATIENCE

needs("flax", "jax_dataclasses")
STUBS = ROOT / "plugins" / "jaxlint_mypy" / "stubs"
PROGRAM = """
import jax
import jax_dataclasses as jdc
from flax import struct


@struct.dataclass
class A:
    x: jax.Array
    n: int = struct.field(pytree_node=False, default=0)


class B(struct.PyTreeNode):
    x: jax.Array
    n: int = 0


@struct.dataclass(frozen=False)
class C:
    n: int = 0


@jdc.pytree_dataclass
class D:
    x: jax.Array
    n: jdc.Static[int] = 0
    y: float = jdc.field(default=0.5)


@jdc.jit
def g(d: D) -> D:
    with jdc.copy_and_mutate(d, validate=False) as copy:
        copy.x = copy.x + 1
    d.y = 2.0  # frozen
    D(x=d.x, n="a")  # wrong
    return jdc.replace(d, n=2)


def f(a: A, b: B, c: C) -> B:
    a.n = 1  # frozen
    b.n = 1  # frozen
    c.n = 1
    A(x=a.x, n=2)
    A(x=a.x, n="a")  # wrong
    b.replace(n=3).n = 4  # frozen
    return b.replace(n=3)
"""
#: chex has no types: without a stub pyright takes its classes for such that take no arguments.
OF_CHEX = """
import chex
import jax


@chex.dataclass
class A:
    x: jax.Array
    n: int = 0


@chex.dataclass(frozen=True)
class B:
    x: jax.Array
    n: int = 0


@chex.dataclass(mappable_dataclass=False)
class C:
    x: jax.Array


def f(a: A, b: B) -> C:
    a.n = 1
    b.n = 1  # frozen
    A(x=a.x, n="a")  # wrong
    B(x=a.x, n=2)
    B(x=a.x, nn=2)  # unknown
    chex.assert_rank(a.x, 1)
    return C(a.x)
"""
MARKED = {row for row, line in enumerate(PROGRAM.splitlines(), start=1) if "  # " in line}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def tool(name: str) -> str:
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    return done.stdout + done.stderr


def test_is_partial() -> None:
    for folder in (*STUBS.iterdir(), STUBS.with_name("stubs_pyright") / "chex-stubs"):
        assert (folder / "py.typed").read_text() == "partial\n"


def pyright(folder: Path) -> set[int]:
    """The lines with errors, with the stubs for what has types and for what has none."""
    paths = {"stubPath": str(STUBS), "extraPaths": [str(STUBS.with_name("stubs_pyright"))]}
    (folder / "pyrightconfig.json").write_text(
        json.dumps({**paths, "pythonVersion": "3.11", "reportMissingImports": False})
    )
    output = json.loads(run(folder, tool("pyright"), "--outputjson", f"--pythonpath={sys.executable}", "program.py"))
    return {d["range"]["start"]["line"] + 1 for d in output["generalDiagnostics"] if d["severity"] == "error"}


@pytest.mark.comparisons
def test_pyright(folder: Path) -> None:
    assert pyright(folder) == MARKED


@pytest.mark.comparisons
def test_pyright_and_chex(folder: Path) -> None:
    needs("chex")
    (folder / "program.py").write_text(OF_CHEX)
    assert pyright(folder) == {row for row, line in enumerate(OF_CHEX.splitlines(), start=1) if "  # " in line}


@pytest.mark.comparisons
def test_pyrefly(folder: Path) -> None:
    (folder / "pyrefly.toml").write_text(f'search-path = ["{STUBS}"]\n')
    command = (tool("pyrefly"), "check", "--output-format=json", "program.py")
    output = run(folder, *command, f"--python-interpreter-path={sys.executable}")
    found = json.loads(output[output.index("{") : output.rindex("}") + 1])
    assert {error["line"] for error in found["errors"]} == MARKED


@pytest.mark.comparisons
def test_ty(folder: Path) -> None:
    command = (tool("ty"), "check", "--output-format=concise", f"--extra-search-path={STUBS}", "program.py")
    output = run(folder, *command, f"--python={sys.executable}")
    rows = {int(line.split(":")[1]) for line in output.splitlines() if line.startswith("program.py:")}
    assert rows == MARKED
