"""The GitHub action: its commands, run as a runner would run them."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
BUG = """\
import jax
from flax import struct


@struct.dataclass
class State:
    x: jax.Array


def step(state: State) -> None:
    state.x = 1
"""
#: The grammar of an annotation: command, properties without a raw comma or line end, message without a line end.
ANNOTATION = re.compile(r"::(error|warning|notice) (\w+=[^,\r\n]*)(,\w+=[^,\r\n]*)*::[^\r\n]+")


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    loaded = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def script(action: dict[str, Any], step: str) -> str:
    (found,) = [s for s in action["runs"]["steps"] if s["name"] == step]
    assert found["shell"] == "bash"
    return str(found["run"])


@pytest.fixture
def runner(tmp_path: Path) -> dict[str, str]:
    """The environment of a step after jaxlint was installed."""
    bin_ = tmp_path / "temp" / "jaxlint" / "bin"
    bin_.mkdir(parents=True)
    (bin_ / "jaxlint").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m jaxlint "$@"\n')
    (bin_ / "jaxlint").chmod(0o755)
    return {**os.environ, "RUNNER_TEMP": str(tmp_path / "temp"), "PATHS": ".", "ARGS": "", "PYTHONPATH": str(ROOT)}


def bash(text: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", text], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )


def test_finds(action: dict[str, Any], runner: dict[str, str], tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "bad.py").write_text(BUG)
    (project / "good.py").write_text("x = 1\n")
    done = bash(script(action, "Run jaxlint"), project, runner)
    assert done.returncode == 1, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("::")]
    assert ANNOTATION.fullmatch(line), line
    assert "file=bad.py" in line and "line=11" in line and "JAX401" in line

    done = bash(script(action, "Run jaxlint"), project, {**runner, "PATHS": "good.py"})
    assert (done.returncode, done.stdout) == (0, "")
    done = bash(
        script(action, "Run jaxlint"), project, {**runner, "ARGS": "--ignore JAX401 --quiet", "PATHS": "bad.py good.py"}
    )
    assert done.returncode == 0, done.stdout
    done = bash(script(action, "Run jaxlint"), project, {**runner, "PATHS": "gone.py"})
    assert done.returncode == 2
    assert "gone.py" in done.stderr


@pytest.mark.parametrize(
    ("paths", "found"),
    [("one\n", 1), ("with space\n", 1), ("one\nwith space\n\n", 2), ("one other", 2), ("one\n*.py\n", None)],
)
def test_paths(action: dict[str, Any], runner: dict[str, str], tmp_path: Path, paths: str, found: int | None) -> None:
    """Lines may hold spaces; one line is split at them; nothing is expanded."""
    for folder in ("one", "with space", "other"):
        (tmp_path / "project" / folder).mkdir(parents=True)
        (tmp_path / "project" / folder / "bad.py").write_text(BUG)
    done = bash(script(action, "Run jaxlint"), tmp_path / "project", {**runner, "PATHS": paths})
    if found is None:
        assert (done.returncode, done.stdout) == (2, "")
        assert "*.py: No such file or directory" in done.stderr
    else:
        assert done.returncode == 1, done.stderr
        assert sum(line.startswith("::") for line in done.stdout.splitlines()) == found


def test_inputs_are_used(action: dict[str, Any]) -> None:
    given = {value for step in action["runs"]["steps"] for value in step["env"].values()}
    for name in action["inputs"]:
        assert f"${{{{ inputs.{name} }}}}" in given


def test_installs(action: dict[str, Any], runner: dict[str, str], tmp_path: Path) -> None:
    """Which package is installed; pip itself is replaced by something that says what it was asked for."""
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "python3").write_text(
        '#!/bin/sh\nmkdir -p "$3/bin"; printf \'#!/bin/sh\\necho "$@"\\n\' > "$3/bin/pip"; chmod +x "$3/bin/pip"\n'
    )
    (fake / "python3").chmod(0o755)
    env = {**runner, "PATH": f"{fake}:{os.environ['PATH']}", "ACTION": "/the/action", "WANTED": ""}
    assert bash(script(action, "Install jaxlint"), tmp_path, env).stdout == "install --quiet /the/action\n"
    env["WANTED"] = "0.1.0"
    assert bash(script(action, "Install jaxlint"), tmp_path, env).stdout == "install --quiet jaxlint-pytree==0.1.0\n"
