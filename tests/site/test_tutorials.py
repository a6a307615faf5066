"""Tutorials are followed word by word: files are written as they are shown, commands print what is said."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import forked
from tests.patience import PATIENCE

TUTORIALS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
#: What needs a project, a network or another tool.
NOT_FOLLOWED = ("pip", "flake8", "pre-commit", "jaxlint tree flax.training")


def blocks(name: str) -> Iterator[tuple[str, str | None, str]]:
    for match in BLOCK.finditer((TUTORIALS / name).read_text(encoding="utf-8")):
        yield match["language"], match["title"], textwrap.dedent(match["text"])


@pytest.mark.parametrize("name", [path.name for path in sorted(TUTORIALS.glob("*.md"))])
def test_a_tutorial_shows_what_is_seen(name: str, tmp_path: Path) -> None:
    followed = 0
    for language, title, text in blocks(name):
        if (title is not None and language == "python") or (title is not None and "[tool.jaxlint]" in text):
            (tmp_path / title).write_text(text, encoding="utf-8")
        elif language == "console":
            for command, shown in commands(text):
                if not f"{command}\n".startswith(NOT_FOLLOWED):
                    followed += 1
                    assert printed(command, tmp_path) in (shown, None), command
    assert followed or name == "how-jaxlint-thinks.md"


def commands(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown.rstrip()


def printed(command: str, folder: Path) -> str | None:
    """What a command prints; None if it cannot be run here."""
    program, *arguments = shlex.split(command)
    if program == "python" and importlib.util.find_spec("jax") is None:
        return None
    assert program in ("python", "jaxlint"), command
    environment = {**os.environ, "NO_COLOR": "1", "JAX_PLATFORMS": "cpu"}
    if program == "jaxlint":
        done = forked.run("jaxlint", arguments, folder, environment)
    else:
        start = [sys.executable, *arguments]
        done = subprocess.run(start, capture_output=True, text=True, cwd=folder, env=environment, timeout=PATIENCE)
    assert done.returncode < 2, done.stderr
    return done.stdout.rstrip()
