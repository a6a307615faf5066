"""Small files that are checked, and what is found in them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from jaxlint import check_paths
from tests import forked

ROOT = Path(__file__).resolve().parents[2]

HEAD = """from flax import struct


@struct.dataclass
class State:
    x: int


"""
#: The row below `HEAD`.
NEXT = 9
STEP = "def step(state: State):\n    state.x = 1\n"

Row = tuple[str, int, int]


def rows(path: Path, *, files: int = 1) -> list[Row]:
    """Code, row and column of the findings in a file or folder that is checked without an internal error."""
    result = check_paths([str(path)])
    assert result.errors == []
    assert result.files == files
    return [(f.code, f.row, f.column) for f in result.findings]


def check(tmp_path: Path, content: str | bytes, name: str = "main.py") -> list[Row]:
    """The findings in a file with that content."""
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return rows(path)


def message(path: Path) -> str:
    """The message of the only finding, which is a JAX001."""
    (finding,) = check_paths([str(path)]).findings
    assert finding.code == "JAX001"
    return finding.message


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command; it never shows a traceback."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = forked.run("jaxlint", ("check", "--output-format", "concise", *arguments), cwd, environment)
    assert "Traceback" not in done.stdout + done.stderr
    return done
