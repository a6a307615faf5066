"""A project of four modules that depend on each other, with two findings, and what a run says of it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from jaxlint.cache.store import Cache
from jaxlint.linter.engine import check_paths

STATE = "import jax\nfrom flax import struct\n\n\n@struct.dataclass\nclass State:\n    x: jax.Array\n"
STEP = """\
from state import State


def step(state: State) -> State:
    state = state.replace({field}=1)
    return state
"""
MADE = "from state import State\n\n\ndef make():\n    return State(x=1)\n"
USED = "from made import make\n\nmade = make()\nmade.x = 2\n"
#: What is found in it.
BOTH = [("step.py", 5, "JAX402"), ("used.py", 4, "JAX401")]


def write_project(folder: Path) -> Path:
    """Write the project into a new folder, as if it had been there for a minute.

    It is marked as a project, so that what happens in the folders above is nothing to it.
    """
    folder.mkdir()
    (folder / "setup.cfg").touch()
    (folder / "state.py").write_text(STATE)
    (folder / "step.py").write_text(STEP.format(field="y"))
    (folder / "made.py").write_text(MADE)
    (folder / "used.py").write_text(USED)
    old = time.time() - 60
    for path in folder.iterdir():
        os.utime(path, (old, old))
    return folder


def found(project: Path, cache: Path | None) -> list[tuple[str, int, str]]:
    """What is found in a project: file, row and code."""
    result = check_paths([str(project)], cache=Cache(str(cache)) if cache is not None else None)
    assert not result.errors
    return [(Path(f.path).name, f.row, f.code) for f in result.findings]
