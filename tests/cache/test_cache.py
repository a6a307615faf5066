"""The cache on disk: the same findings, cold, warm, edited, broken or not writable at all."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import jaxlint.linter.checker
import jaxlint.linter.runs
from jaxlint.cache.store import Cache
from jaxlint.finding import Finding
from jaxlint.linter.checker import Checker
from jaxlint.linter.engine import check_paths
from jaxlint.project.modules import Module
from jaxlint.syntax.source import Source
from tests import forked
from tests.patience import PATIENCE
from tests.small_project import BOTH, MADE, STATE, STEP, found, write_project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = write_project(tmp_path / "project")
    (folder / "pyproject.toml").touch()  # modules are not looked for above, where other tests make folders
    return folder


class Counting:
    """Counts how many modules are checked, and not taken from the cache."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[str] = []
        check = jaxlint.linter.checker.Checker.check

        def counted(checker: jaxlint.linter.checker.Checker, module: Module) -> list[Finding]:
            self.paths.append(Path(module.path).name)
            return check(checker, module)

        monkeypatch.setattr(Checker, "check", counted)

    def take(self) -> list[str]:
        taken, self.paths = sorted(self.paths), []
        return taken


ALL = ["made.py", "state.py", "step.py", "used.py"]


def test_what_is_checked_again(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting(monkeypatch)
    cache = tmp_path / "cache"
    assert found(project, cache) == BOTH
    assert counting.take() == ALL
    assert found(project, cache) == BOTH
    assert counting.take() == []

    # what nobody leads to
    (project / "step.py").write_text(STEP.format(field="x"))
    assert found(project, cache) == BOTH[1:]
    assert counting.take() == ["step.py"]

    # what a function returns is read by who calls it
    (project / "made.py").write_text(MADE.replace("State(x=1)", "None"))
    assert found(project, cache) == []
    assert counting.take() == ["made.py", "used.py"]

    # only the time changes
    os.utime(project / "state.py")
    assert found(project, cache) == []
    assert counting.take() == []

    # a class that others inherit from and update
    (project / "state.py").write_text(STATE.replace("x:", "z:"))
    assert found(project, cache) == [("step.py", 5, "JAX402")]
    assert counting.take() == ALL

    # a new file
    (project / "more.py").write_text(STEP.format(field="q"))
    assert ("more.py", 5, "JAX402") in found(project, cache)


def test_what_comes_and_goes_above_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder above one that no file marks as a project, only such a file says anything."""
    home, cache = tmp_path / "home", tmp_path / "cache"
    home.mkdir()
    program = write_project(home / "program")
    (program / "setup.cfg").unlink()
    checked = Counting(monkeypatch)
    assert found(program, cache) == BOTH
    assert len(checked.take()) == 4
    (home / "downloads").mkdir()
    (home / "state.py").touch()
    assert found(program, cache) == BOTH
    assert checked.take() == []
    (home / "setup.cfg").touch()
    assert found(program, cache) == BOTH
    assert len(checked.take()) == 4


def test_settings_and_files_are_kept_apart(project: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert found(project, cache) == BOTH
    from jaxlint.config.settings import Settings

    result = check_paths([str(project)], Settings(ignore=("JAX401",)), cache=Cache(str(cache)))
    assert [f.code for f in result.findings] == ["JAX402"]
    result = check_paths([str(project / "used.py")], cache=Cache(str(cache)))
    assert [f.code for f in result.findings] == ["JAX401"]
    assert found(project, cache) == BOTH


@pytest.mark.parametrize("damage", ["empty", "garbage", "torn", "swapped"])
def test_damage(project: Path, tmp_path: Path, damage: str) -> None:
    cache = tmp_path / "cache"
    assert found(project, cache) == BOTH
    files = sorted(p for p in cache.rglob("*") if p.is_file() and p.name not in ("CACHEDIR.TAG", ".gitignore"))
    assert [p.parent.name for p in files] == ["facts", "runs"]
    contents = [p.read_bytes() for p in files]
    for path, content in zip(files, contents, strict=True):
        match damage:
            case "empty":
                path.write_bytes(b"")
            case "garbage":
                path.write_bytes(os.urandom(len(content)))
            case "torn":
                path.write_bytes(content[: len(content) // 2])
            case "swapped":
                path.write_bytes(contents[-1] if path == files[0] else contents[0])
    assert found(project, cache) == BOTH
    assert found(project, cache) == BOTH


@pytest.mark.parametrize("kind", ["file", "read-only", "below a file"])
def test_not_writable(project: Path, tmp_path: Path, kind: str) -> None:
    cache = tmp_path / "cache"
    if kind == "read-only":
        cache.mkdir()
        cache.chmod(0o555)
    else:
        cache.write_text("in the way")
    folder = cache / "deep" if kind == "below a file" else cache
    assert found(project, folder) == BOTH
    assert found(project, folder) == BOTH
    if kind == "read-only":
        cache.chmod(0o755)


def test_command(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAXLINT_NO_CACHE")

    def run(*options: str) -> list[str]:
        done = forked.run("jaxlint", ("check", "--output-format", "json", *options), project)
        assert (done.returncode, done.stderr) == (1, "")
        return [finding["code"] for finding in json.loads(done.stdout)]

    assert run("--no-cache") == ["JAX402", "JAX401"]
    assert not (project / ".jaxlint_cache").exists()
    assert run() == run() == ["JAX402", "JAX401"]
    assert (project / ".jaxlint_cache" / ".gitignore").read_text() == "*\n"
    assert run("--cache-dir", "elsewhere") == ["JAX402", "JAX401"]
    assert (project / "elsewhere" / "CACHEDIR.TAG").exists()


def test_at_the_same_time(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAXLINT_NO_CACHE")
    command = [
        sys.executable,
        "-m",
        "jaxlint",
        "check",
        "--output-format",
        "concise",
        "--cache-dir",
        str(tmp_path / "c"),
    ]
    running = [
        subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    outputs = {process.communicate() for process in running}
    assert len(outputs) == 1
    ((stdout, stderr),) = outputs
    assert stdout.count("JAX40") == 2 and not stderr.startswith("jaxlint: ")


def test_a_file_that_is_moved_here_with_the_time_and_size_of_the_old_one(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxlint.linter.runs._TICK", 0)
    cache, path, other = tmp_path / "cache", project / "step.py", project / "other.txt"
    os.utime(path, ns=(10**18, 10**18))
    assert found(project, cache) == BOTH
    text = path.read_text()
    fixed = STEP.format(field="x")
    other.write_text(fixed + "#" * (len(text) - len(fixed)))
    os.utime(other, ns=(10**18, 10**18))
    assert path.stat().st_size == other.stat().st_size
    other.replace(path)
    assert found(project, cache) == BOTH[1:]


def test_files_that_were_just_written_are_read_once_more(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout that is checked at once: the time of its files does not tell yet that they stay as they are."""
    read: list[str] = []
    source = Source.read

    def counted(path: str) -> Source:
        read.append(path)
        return source(path)

    monkeypatch.setattr(Source, "read", counted)
    assert found(project, tmp_path / "cache") == BOTH
    later = time.time_ns() + 10 * jaxlint.linter.runs._TICK
    monkeypatch.setattr(time, "time_ns", lambda: later)
    read.clear()
    assert found(project, tmp_path / "cache") == BOTH
    assert {Path(path).name for path in read} >= set(ALL)
    read.clear()
    assert found(project, tmp_path / "cache") == BOTH
    assert read == []


def test_an_unchanged_run_loads_little(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAXLINT_NO_CACHE")
    (project / ".git").mkdir()
    (project / ".gitignore").write_text("*.py[cod]\nout/\n")
    program = (
        "import sys, jaxlint.linter.runs; from jaxlint.cli.main import main\n"
        "jaxlint.linter.runs._TICK = 0\n"
        "main(sys.argv[1:]); print(*(name for name in sys.modules if name.startswith(('jaxlint.', 'pathspec'))))"
    )
    command = [sys.executable, "-c", program, "check", "-q", f"--cache-dir={tmp_path / 'cache'}", str(project)]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "JAX401" in done.stdout
    assert "jaxlint.report.text" in loaded
    heavy = {"symbols.outline", "symbols.parsing", "linter.checker", "rules", "pytrees.model", "infer"}
    heavy |= {"suppression.comments", "linter.parallel"}
    assert loaded.isdisjoint({"pathspec", *(f"jaxlint.{name}" for name in heavy)})
