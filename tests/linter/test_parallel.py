"""Several processes: the same as one, forked or spawned, and no harm if one of them ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jaxlint.cache.store import Cache
from jaxlint.config.settings import Settings
from jaxlint.errors import UserError
from jaxlint.finding import Finding
from jaxlint.linter import parallel
from jaxlint.linter.engine import check_paths
from jaxlint.linter.result import Result
from tests.cache.test_cache import Counting
from tests.patience import PATIENCE
from tests.small_project import BOTH, STATE, STEP, write_project

pytestmark = pytest.mark.comparisons

METHODS = ["fork", "spawn"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = write_project(tmp_path / "project")
    for number in range(12):
        (folder / f"step{number}.py").write_text(STEP.format(field="xyz"[number % 3]))
    (folder / "broken.py").write_text("def (\n")
    (folder / "latin.py").write_bytes(b"x = '\xff'\n")
    (folder / "empty.py").touch()
    return folder


def use(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Have processes started in this way, however little there is to do."""
    monkeypatch.setattr(parallel, "start_method", lambda: method)
    monkeypatch.setattr(parallel, "PAYS_FROM", {method: 0})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("jobs", [2, 5])
def test_same_as_one(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, jobs: int) -> None:
    alone = check_paths([str(project)])
    assert len(alone.findings) == len(BOTH) + 8 + 2
    use(monkeypatch, method)
    counting = Counting(monkeypatch)
    cache = tmp_path / "cache"
    assert check_paths([str(project)], jobs=jobs) == alone
    assert check_paths([str(project)], jobs=jobs, cache=Cache(str(cache))) == alone
    assert counting.take() == []  # all was done elsewhere
    assert check_paths([str(project)], jobs=jobs, cache=Cache(str(cache))) == alone
    assert len(list(cache.glob("*/facts/*.pack"))) <= jobs
    (project / "state.py").write_text(STATE + "\n\ny = 1\n")
    assert check_paths([str(project)], jobs=jobs, cache=Cache(str(cache))) == check_paths([str(project)])


def test_small_projects_are_done_in_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting(monkeypatch)
    check_paths([str(project)], jobs=2)
    assert len(counting.take()) == 19


@pytest.mark.parametrize("method", METHODS)
def test_what_processes_read_elsewhere_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """The cache knows of modules outside of what is checked that only other processes have read."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "state.py").write_text(STATE)
    app = tmp_path / "app"
    app.mkdir()
    for name in ("one", "two"):
        (app / f"{name}.py").write_text(STEP.format(field="y"))
    use(monkeypatch, method)

    def codes() -> list[str]:
        return [f.code for f in check_paths([str(app)], jobs=2, cache=Cache(str(tmp_path / "cache"))).findings]

    assert codes() == codes() == ["JAX402", "JAX402"]
    (tmp_path / "lib" / "state.py").write_text(STATE.replace("x:", "y:"))
    assert codes() == []


def fail(*arguments: object) -> None:
    raise ValueError("no way")


def end(*arguments: object) -> None:
    os._exit(9)


@pytest.mark.parametrize("step", ["build_index", "packs", "known", "check", "read"])
def test_a_process_that_ends(project: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    use(monkeypatch, "fork")
    monkeypatch.setattr(parallel._Server, step, end)
    with pytest.raises(UserError, match="one of the processes was ended from outside"):
        check_paths([str(project)], jobs=2)


def test_a_process_that_fails(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "fork")
    monkeypatch.setattr(parallel._Server, "check", fail)
    with pytest.raises(RuntimeError, match="ValueError: no way"):
        check_paths([str(project)], jobs=2)


@pytest.mark.parametrize("method", METHODS)
def test_packs_that_cannot_be_written(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """What one process cannot tell the others they find out themselves."""
    alone = check_paths([str(project)])
    use(monkeypatch, method)
    monkeypatch.setattr(
        "jaxlint.linter.storage.Storage.new_place", lambda storage: (str(tmp_path / "no" / "where"), "me")
    )
    assert check_paths([str(project)], jobs=2) == alone
    monkeypatch.setattr("jaxlint.linter.storage.Storage.new_place", lambda storage: None)
    assert check_paths([str(project)], jobs=2) == alone


def test_errors_of_rules_arrive(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, *arguments: object) -> list[Finding]:
        raise ValueError("broken rule")

    use(monkeypatch, "fork")
    monkeypatch.setattr("jaxlint.rules.replace_unknown_field.ReplaceUnknownField.check_event", broken)
    results: list[Result] = [check_paths([str(project)], Settings(), jobs=jobs) for jobs in (1, 2)]
    assert results[0] == results[1]
    assert len(results[0].errors) == 13


INTERRUPTED = """
import os, signal, sys
from jaxlint.linter import parallel
from jaxlint.cli import main as cli
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have turned off
parallel.PAYS_FROM = {"fork": 0, "spawn": 0}
receive = parallel._receive
def interrupt(connection):
    os.killpg(0, signal.SIGINT)
    return receive(connection)
parallel._receive = interrupt
sys.exit(cli.main(["check", "-q", "-j2", "--isolated", "--no-cache", "."]))
"""


def test_interrupted(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=project, capture_output=True, text=True, timeout=PATIENCE,
        start_new_session=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\n")


TERMINATED = """
import os, signal, sys
from jaxlint.linter import parallel
from jaxlint.cli import main as cli
parallel.PAYS_FROM = {"fork": 0, "spawn": 0}
def never_done(server, paths):
    while True:
        pass
parallel._Server.build_index = never_done
send, sent = parallel._send, []
def terminated(connection, message):
    send(connection, message)
    sent.append(message)
    if len(sent) == 2:
        os.kill(os.getpid(), signal.SIGTERM)
parallel._send = terminated
sys.exit(cli.main(["check", "-q", "-j2", "--isolated", "--no-cache", "."]))
"""


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="what is changed here is only in forked processes")
def test_terminated(project: Path) -> None:
    """No process goes on alone: the pipe, which they all hold, ends with the one that was asked to end."""
    process = subprocess.Popen(
        [sys.executable, "-c", TERMINATED], cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True, env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, output) == (-signal.SIGTERM, b"")
