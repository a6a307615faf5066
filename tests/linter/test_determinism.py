"""The same input gives the same bytes, whatever the hash seed, the number of processes and the order of the paths."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.oracle.cases import FIXTURES
from tests.patience import PATIENCE

pytestmark = pytest.mark.comparisons

ROOT = Path(__file__).resolve().parents[2]
MODULES = 36
CORE = ["JAX201", "JAX202", "JAX301", "JAX401", "JAX402"]

#: The command, with several processes however little there is to do.
ALWAYS_PARALLEL = """
import sys
from jaxlint.cli import main as cli
from jaxlint.linter import parallel
parallel.PAYS_FROM = dict.fromkeys(parallel.PAYS_FROM, 0)
sys.exit(cli.main(sys.argv[1:]))
"""

#: One module of the generated project: it declares a state, inherits one, and uses those of its neighbours.
MODULE = """
from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import struct

from . import m{before:02} as before
from .m{after:02} import State{after} as After


@struct.dataclass
class State{n}:
    x: jax.Array
    y: jax.Array = struct.field(pytree_node=False)
    z: jax.Array = jnp.zeros({n})
    count: int = struct.field(pytree_node=False, default=0)


class Derived{n}(before.State{before}):
    w: int = 0


def annotated(a: State{n}, b: After, c: before.Derived{before}):
    a.x, b.x = b.x, a.x
    c.w = 1
    return a.replace(count=a.count + 1), b.replace(xx=1), c.replace(ww=2)


def inferred(a, b):
    a.x = b.x
    return b.replace(nothing=1)


def calls(states: list[State{n}], other: After):
    for state in states:
        inferred(state, other)
        before.inferred(other, state)
        state.x += 1
"""


def generate(folder: Path) -> None:
    folder.mkdir()
    (folder / "__init__.py").write_text("".join(f"from .m{n:02} import *\n" for n in range(MODULES)))
    for n in range(MODULES):
        text = MODULE.format(n=n, before=(n - 1) % MODULES, after=(n + 5) % MODULES)
        (folder / f"m{n:02}.py").write_text(text)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(FIXTURES / "demo", root / "demo", ignore=shutil.ignore_patterns("__pycache__"))
    generate(root / "generated")
    (root / "broken.py").write_text("def (\n")
    return root


def output(project: Path, format_: str, seed: int, jobs: int, backwards: bool) -> bytes:
    """What the command writes to stdout about all files of the project, each given by its name."""
    paths = sorted(str(path.relative_to(project)) for path in project.rglob("*.py"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(seed), "NO_COLOR": "1"}
    command = [sys.executable, "-c", ALWAYS_PARALLEL, "check", "--isolated", "--select", "ALL", f"-j{jobs}"]
    command += ["--output-format", format_, *(reversed(paths) if backwards else paths)]
    done = subprocess.run(command, capture_output=True, cwd=project, env=environment, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (1, b"")
    return done.stdout


@pytest.fixture(scope="module")
def plain(project: Path) -> dict[str, bytes]:
    return {format_: output(project, format_, 0, 1, backwards=False) for format_ in ("concise", "json")}


VARIANTS = [
    ("json", 0, 2, True),
    ("json", 1, 1, True),
    ("json", 1, 2, False),
    ("json", 42, 1, False),
    ("concise", 42, 2, True),
]


@pytest.mark.parametrize(("format_", "seed", "jobs", "backwards"), VARIANTS)
def test_same_bytes(
    project: Path, plain: dict[str, bytes], format_: str, seed: int, jobs: int, backwards: bool
) -> None:
    assert output(project, format_, seed, jobs, backwards) == plain[format_]


def test_a_folder_is_as_good_as_its_files(project: Path, plain: dict[str, bytes]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "jaxlint", "check", "--isolated", "--select", "ALL", "--output-format", "json"]
    done = subprocess.run(command, capture_output=True, cwd=project, env=environment, timeout=PATIENCE)
    assert done.stdout == plain["json"]


def test_there_was_something_to_confuse(project: Path, plain: dict[str, bytes]) -> None:
    findings = json.loads(plain["json"])
    files = Counter(str(Path(finding["filename"]).relative_to(project)) for finding in findings)
    assert sum(name.startswith("generated/m") for name in files) == MODULES
    assert sum(name.startswith("demo/") for name in files) == 4
    assert files["broken.py"] == 1
    codes = Counter(finding["code"] for finding in findings)
    assert [code for code in CORE if codes[code] >= MODULES] == CORE
    places = [(f["filename"], *f["location"].values(), f["code"]) for f in findings]
    assert places == sorted(places)
