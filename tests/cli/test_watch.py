"""`jaxlint check --watch` checks again when a file changes, and ends with Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE

FROZEN = "from flax import struct\n\n\n@struct.dataclass\nclass S:\n    x: int = 0\n\n\ns = S()\n"


class Watcher:
    """A running `jaxlint check --watch`, and what it prints."""

    def __init__(self, folder: Path, log: Path) -> None:
        self.log = log
        command = [sys.executable, "-m", "jaxlint", "check", "--watch", "--output-format", "concise"]
        with log.open("w") as output:
            self.process = subprocess.Popen(
                command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, preexec_fn=_listen_to_ctrl_c
            )

    def wait_for(self, checks: int) -> str:
        """What the last check has printed, once there were so many."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            text = self.log.read_text()
            if text.count("watching for changes") >= checks:
                return text.split("watching for changes")[checks - 1]
            assert self.process.poll() is None, text
            time.sleep(0.05)
        raise AssertionError(f"not {checks} checks: {self.log.read_text()}")


def _listen_to_ctrl_c() -> None:
    """A shell turns it off for what runs in its background, and for all that this starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "state.py").write_text(FROZEN)
    return folder


@pytest.fixture
def watcher(project: Path, tmp_path: Path) -> Iterator[Watcher]:
    pytest.importorskip("watchfiles")
    started = Watcher(project, tmp_path / "log")
    yield started
    started.process.kill()
    started.process.wait()


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent otherwise")
def test_checks_again(project: Path, watcher: Watcher) -> None:
    assert "All checks passed" in watcher.wait_for(1)
    (project / "state.py").write_text(FROZEN + "s.x = 1\n")
    assert "state.py:10:1: JAX401" in watcher.wait_for(2)
    (project / "notes.txt").write_text("nothing that is checked")
    (project / "pyproject.toml").write_text('[tool.jaxlint]\nignore = ["JAX401"]\n')
    assert "All checks passed" in watcher.wait_for(3)
    watcher.process.send_signal(signal.SIGINT)
    assert watcher.process.wait(PATIENCE) == 0
    assert watcher.log.read_text().count("watching for changes") == 3


@pytest.mark.parametrize("argument", ["-", "--show-files", "--add-noqa", "--shard=1/2"])
def test_goes_with_checks_alone(argument: str, project: Path) -> None:
    assert "--watch needs a check of all files" in refused(project, argument)


def test_a_path_that_is_none_is_named(project: Path) -> None:
    assert "Error: nope.py does not exist" in refused(project, "nope.py")


def test_the_library_is_named_where_it_is_missing(project: Path) -> None:
    (project / "watchfiles.py").write_text("raise ImportError\n")
    assert 'pip install "jaxlint-pytree[watch]"' in refused(project)


def refused(folder: Path, *arguments: str) -> str:
    """What `--watch` says before it gives up."""
    command = [sys.executable, "-m", "jaxlint", "check", "--watch", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    return done.stderr
