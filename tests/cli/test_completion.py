"""What the Tab key completes, asked of a shell that has the line of the documentation."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from jaxlint.cli.main import cli
from tests.patience import PATIENCE

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def completed(typed: str, folder: Path) -> list[str]:
    """What bash puts in the place of the last word of a line, or what it lets Readline look up."""
    (line,) = re.findall(r"`(eval [^`]*bash_source[^`]*)`", PAGE.read_text(encoding="utf-8"))
    words = typed.split(" ")
    # `compopt` works in a shell that a person types in only; here it prints what it would have Readline look up
    script = [
        "compopt() { echo look up: $2; }",
        line,
        f"COMP_WORDS=({shlex.join(words[:-1])} '{words[-1]}') COMP_CWORD={len(words) - 1}",
        "_jaxlint_completion jaxlint; echo ${COMPREPLY[@]}",
    ]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = ["bash", "-c", "\n".join(script)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=PATIENCE)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("jaxlint che", ["check"]),
        ("jaxlint rule froz", ["frozen-inheritance", "frozen-assignment"]),
        ("jaxlint check --select upd", ["updates"]),
        ("jaxlint check --ignore JAX2,jax40", [f"JAX2,JAX40{digit}" for digit in range(1, 10)]),
    ],
)
def test_words(typed: str, words: list[str], tmp_path: Path) -> None:
    assert completed(typed, tmp_path) == words


@pytest.mark.parametrize("typed", ["jaxlint check sr", "jaxlint tree sr", "jaxlint check --baseline sr"])
def test_files_are_left_to_the_shell(typed: str, tmp_path: Path) -> None:
    assert completed(typed, tmp_path) == ["look", "up:", "default"]


def test_all_that_names_files_completes_them() -> None:
    """An option or argument that is described as a file or folder is completed as one, in each command."""
    for command in cli.commands.values():
        for parameter in command.params:
            named = parameter.name if isinstance(parameter, click.Argument) else ""
            if re.search("FILE|PATH|DIR", f"{parameter.metavar} {named}".upper()):
                (item,) = parameter.shell_complete(click.Context(command), "sr")
                assert (item.value, item.type in ("file", "dir")) == ("sr", True), (command.name, parameter.name)
