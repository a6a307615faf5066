"""What `jaxlint check --fix` leaves as it is: what is hidden or known, and what cannot be written."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jaxlint import fix_paths
from jaxlint.fixes import running
from jaxlint.fixes.rounds import Fixer
from tests.fixes.test_fix_commands import BODY, HEADER, SAFE, TEXT, run

#: What takes from root the right to write whatever it likes.
_OBEYING = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
#: Another function with a finding.
MORE = "\n\ndef g(state: State):\n    state.step = 3\n    return state\n"


def test_what_is_hidden_is_not_fixed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hidden = HEADER + BODY.format("  # noqa: JAX401")
    (project / "a.py").write_text(hidden)
    run(capsys, "--fix")
    assert (project / "a.py").read_text() == hidden
    (project / "a.py").write_text(TEXT)
    run(capsys, "--write-baseline", "base.json")
    assert run(capsys, "--fix", "--unsafe-fixes", "--baseline", "base.json")[0] == 0
    assert (project / "a.py").read_text() == TEXT


def test_what_a_baseline_knows_is_not_fixed(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is new is fixed, in files and on the standard input, and the baseline knows the rest afterwards, too."""
    run(capsys, "--write-baseline", "base.json")
    (project / "a.py").write_text(TEXT + MORE)
    fixed = TEXT + MORE.replace("state.step = 3", "state = state.replace(step=3)")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((TEXT + MORE).encode()), newline=""))
    assert run(capsys, "--fix", "--baseline", "base.json", "--stdin-filename", "a.py")[:2] == (0, fixed)
    assert run(capsys, "--fix", "--baseline", "base.json")[0] == 0
    assert (project / "a.py").read_text() == fixed
    assert run(capsys, "--fix", "--baseline", "base.json") == (0, "All checks passed!\n", "")


@pytest.mark.parametrize("options", [[], ["--fix"], ["--diff"]])
def test_no_notebook_is_fixed(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    """Wherever it comes from: it would be called clean, though nobody has read its code."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"cells": []}')))
    code, out, err = run(capsys, *options, "--stdin-filename", "a.ipynb")
    assert (code, out) == (2, "") and err.startswith("jaxlint: error: a.ipynb: is a notebook, of which no code is read")


@pytest.fixture
def obeying() -> list[str]:
    """How a command is run that may not write what is read-only, even for root."""
    if os.name == "nt":
        pytest.skip("nothing is read-only there")
    if os.geteuid():
        return []
    if shutil.which(_OBEYING[0]) is None or subprocess.run([*_OBEYING, "true"], capture_output=True).returncode:
        pytest.skip("nobody keeps root from writing")
    return _OBEYING


def test_a_file_that_cannot_be_written(project: Path, obeying: list[str]) -> None:
    """It is said in a line, and the others are fixed: also one in a folder that takes no new file."""
    for name in ("b.py", "closed/c.py"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(TEXT)
    (project / "a.py").chmod(0o444)
    (project / "closed").chmod(0o555)
    command = [*obeying, sys.executable, "-m", "jaxlint", "check", "--fix", "--output-format", "concise"]
    done = subprocess.run(command, capture_output=True, text=True)
    (project / "closed").chmod(0o755)
    assert (done.returncode, done.stderr) == (1, "jaxlint: warning: a.py: nothing was fixed: Permission denied\n")
    assert done.stdout.splitlines()[-2] == "Found 6 errors (2 fixed, 4 remaining)."
    assert [(project / name).read_text() for name in ("a.py", "b.py", "closed/c.py")] == [TEXT, SAFE, SAFE]


def test_another_name_of_a_file_stays_one(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.link(project / "a.py", project / "b.txt")
    run(capsys, "--fix")
    assert (project / "b.txt").read_text() == SAFE
    assert (project / "a.py").samefile(project / "b.txt")
    assert not [name for name in os.listdir(project) if name.startswith(".jaxlint-")]


@pytest.mark.skipif(os.name == "nt", reason="folders there take every file")
def test_a_folder_that_takes_no_new_file(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which it is asked for, so that a file is either the old one or the new one."""

    def refuse(path: str, content: bytes) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(running, "write_atomically", refuse)
    assert run(capsys, "--fix")[2] == ""
    assert (project / "a.py").read_text() == SAFE
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "a.py: nothing was fixed: Permission denied" in run(capsys, "--fix", "--unsafe-fixes")[2]
    assert (project / "a.py").read_text() == SAFE


def test_a_file_that_changes_meanwhile(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = TEXT + "x = 1\n"
    fix = Fixer.fix

    def change(self: Fixer, path: str, *, unsafe: bool) -> object:
        one = fix(self, path, unsafe=unsafe)
        (project / "a.py").write_text(changed)
        return one

    monkeypatch.setattr(Fixer, "fix", change)
    done = fix_paths(["a.py"])
    assert done.problems == ["a.py: nothing was fixed: it has been changed in the meantime"]
    assert not done.fixed
    assert (project / "a.py").read_text() == changed
