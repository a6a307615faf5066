"""Where `jaxlint check` writes, and what it reads: files, lists of files, counts, and the standard input."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from jaxlint.cli import main as cli
from jaxlint.report import FORMATS, STATISTICS
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]

STATE = """\
import jax
from flax import struct


@struct.dataclass
class State:
    x: jax.Array
"""
STEP = """\
from .state import State


def step(state: State):
    state.x = 1
    return state
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("NO_COLOR", "FORCE_COLOR", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "state.py").write_text(STATE)
    (package / "step.py").write_text(STEP)
    (tmp_path / "pyproject.toml").write_text('[tool.jaxlint]\nselect = ["JAX401"]\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    def run_check(*arguments: str, stdin: str | bytes | None = None) -> tuple[int, str, str]:
        if stdin is not None:
            raw = stdin if isinstance(stdin, bytes) else stdin.encode()
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        code = cli.main(["check", "-j1", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_check


Run = Callable[..., tuple[int, str, str]]


# -- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", FORMATS)
def test_output_file(format_: str, run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = run("--output-format", format_)
    assert (code, err) == (1, "")
    assert "pkg/step.py" in out
    monkeypatch.setenv("FORCE_COLOR", "1")
    file = project / "new" / "folder" / "report"
    assert run("--output-format", format_, "--output-file", "new/folder/report") == (1, "", "")
    assert file.read_bytes() == out.encode()
    assert [path.name for path in file.parent.iterdir()] == ["report"]
    assert run("--output-format", format_, "--output-file", "new/folder/report", "pkg/state.py") == (0, "", "")
    assert "step.py" not in file.read_text()


def test_output_file_keeps_link_and_mode(run: Run, project: Path) -> None:
    stored = project / "stored"
    stored.write_text("old")
    stored.chmod(0o640)
    (project / "link").symlink_to("stored")
    run("--output-format", "concise", "--output-file", "link")
    assert (project / "link").is_symlink()
    assert stored.read_text().startswith("pkg/step.py:5:5: JAX401 ")
    assert stat.S_IMODE(stored.stat().st_mode) == 0o640


def test_output_file_has_the_usual_mode(run: Run, project: Path) -> None:
    run("--output-file", "report")
    (project / "other").touch()
    assert (project / "report").stat().st_mode == (project / "other").stat().st_mode


def test_output_file_that_is_a_pipe(run: Run, project: Path) -> None:
    os.mkfifo("pipe")
    read: list[str] = []
    thread = threading.Thread(target=lambda: read.append(Path("pipe").read_text()))
    thread.start()
    assert run("--output-format", "concise", "--output-file", "pipe") == (1, "", "")
    thread.join(timeout=PATIENCE)
    assert read[0].startswith("pkg/step.py:5:5: JAX401 ")
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


@pytest.mark.parametrize(
    ("path", "reason"), [("pkg", "Is a directory"), ("pyproject.toml/report", ("Not a directory", "File exists"))]
)
def test_output_file_that_cannot_be_written(path: str, reason: str | tuple[str, ...], run: Run) -> None:
    code, out, err = run("--output-file", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"jaxlint: error: --output-file: {path}: ")
    assert err.rstrip().endswith(reason)


def test_output_file_is_the_old_one_or_the_new_one(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up leaves what was there before, and nothing else."""

    def fail(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    (project / "report").write_text("old")
    monkeypatch.setattr(os, "replace", fail)
    before = sorted(os.listdir())
    assert run("--output-file", "report") == (
        2,
        "",
        "jaxlint: error: --output-file: report: No space left on device\n",
    )
    assert (project / "report").read_text() == "old"
    assert sorted(os.listdir()) == before


# -- statistics and lists of files ---------------------------------------------------------------


def test_statistics(run: Run) -> None:
    table = "1\tJAX401\tfrozen-assignment\n"
    assert run("--statistics") == (1, table + "Found 1 error.\n[*] 1 fixable with `--fix`.\n", "")
    assert run("--statistics", "-q") == (1, table, "")
    assert run("--statistics", "--exit-zero", "--output-format", "grouped")[0] == 0
    assert run("--statistics", "pkg/state.py") == (0, "All checks passed!\n", "")
    code, out, err = run("--statistics", "--output-format", "json")
    assert (code, err) == (1, "")
    assert json.loads(out) == [
        {"code": "JAX401", "name": "frozen-assignment", "count": 1, "fixable": True, "fixable_count": 1}
    ]


@pytest.mark.parametrize("format_", [name for name in FORMATS if name not in STATISTICS])
def test_statistics_that_have_no_form(format_: str, run: Run) -> None:
    code, out, err = run("--statistics", "--output-format", format_)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith(f"Error: There are no --statistics in the format {format_}, but in full, ")


def test_show_files(run: Run, project: Path) -> None:
    (project / "pkg" / "broken.py").write_text("(")
    (project / "pkg" / "data.txt").touch()
    listed = ["pkg/__init__.py", "pkg/broken.py", "pkg/state.py", "pkg/step.py"]
    assert run("--show-files") == (0, "".join(f"{path}\n" for path in listed), "")
    assert run("--show-files", "--exclude", "s*.py") == (0, "pkg/__init__.py\npkg/broken.py\n", "")
    assert run("--show-files", "pkg/data.txt", "pkg/step.py", str(project / "pkg/step.py")) == (
        0,
        "pkg/data.txt\npkg/step.py\n",
        "",
    )
    assert run("--show-files", "--output-file", "list") == (0, "", "")
    assert (project / "list").read_text().splitlines() == listed
    assert run("--show-files", "gone.py") == (2, "", "jaxlint: error: gone.py: No such file or directory\n")


def test_show_files_outside_of_the_folder(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "empty").mkdir()
    monkeypatch.chdir(project / "empty")
    assert run("--show-files") == (0, "", "jaxlint: warning: no Python files found under the given paths\n")
    assert run("--show-files", "-q") == (0, "", "")
    assert run("--show-files", "../pkg/step.py") == (0, f"{project}/pkg/step.py\n", "")


# -- the standard input --------------------------------------------------------------------------


@pytest.mark.parametrize("format_", FORMATS)
def test_stdin_is_like_the_file(format_: str, run: Run, project: Path) -> None:
    expected = run("--output-format", format_, "pkg/step.py")
    assert expected[0] == 1
    given = ("--output-format", format_, "--stdin-filename", "pkg/step.py")
    assert run("-", *given, stdin=STEP) == expected
    (project / "pkg" / "step.py").unlink()
    assert run("-", *given, stdin=STEP) == expected
    assert run(*given, stdin=STEP) == expected


def test_stdin_counts_and_not_the_file(run: Run, project: Path) -> None:
    given = ("-", "--stdin-filename", "pkg/step.py", "--output-format", "concise")
    assert run(*given, stdin=STEP.replace("state.x = 1", "pass")) == (0, "All checks passed!\n", "")
    code, out, err = run(*given, stdin="# one more line\n" + STEP)
    assert (code, out.partition(" ")[0], err) == (1, "pkg/step.py:6:5:", "")
    code, out, err = run("--output-format", "full", "--stdin-filename", "pkg/step.py", stdin=STEP + "# end\n")
    assert "7 | # end" in out
    (project / "pkg" / "step.py").write_text("(")
    assert run(*given, stdin=STEP)[0] == 1


def test_stdin_is_what_its_siblings_import(run: Run, project: Path) -> None:
    """Modules that import each other see the text, not what is on disk."""
    (project / "pkg" / "state.py").write_text("x = 1\n")
    (project / "pkg" / "step.py").write_text("from .state import State\n\n\nclass Own(State):\n    y: int\n")
    text = "from . import step\n" + STATE + "\n\ndef f(own: step.Own):\n    own.x = 1\n"
    code, out, err = run("-", "--stdin-filename", "pkg/state.py", "--output-format", "concise", stdin=text)
    assert (code, out.partition(" `")[0], err) == (1, "pkg/state.py:12:5: JAX401", "")


def test_stdin_in_a_folder_that_is_not_there(run: Run) -> None:
    text = STEP.replace("from .state", "from pkg.state")
    code, out, err = run("-", "--stdin-filename", "new/folder/a.py", "--output-format", "concise", stdin=text)
    assert (code, out.partition(" ")[0], err) == (1, "new/folder/a.py:5:5:", "")


def test_stdin_without_a_name(run: Run) -> None:
    text = STEP.replace("from .state", "from pkg.state")
    code, out, err = run("-", "--output-format", "concise", stdin=text)
    assert (code, out.partition(" ")[0], err) == (1, "-:5:5:", "")
    code, out, err = run("-", "--output-format", "gitlab", stdin=text)
    assert json.loads(out)[0]["location"]["path"] == "-"
    code, out, err = run("-", "--output-format", "json", stdin=text)
    assert (code, json.loads(out)[0]["filename"]) == (1, "-")
    code, out, err = run("-", "--output-format", "full", stdin=text)
    assert "5 |     state.x = 1" in out


def test_stdin_has_the_settings_of_its_file(run: Run, project: Path) -> None:
    given = ("-", "--stdin-filename", "pkg/step.py", "--output-format", "concise")
    (project / "pkg" / "jaxlint.toml").write_text('select = ["JAX4"]\nignore = ["JAX4"]\n')
    assert run(*given, stdin=STEP) == (0, "All checks passed!\n", "")
    (project / "pkg" / "jaxlint.toml").unlink()
    ignores = '[tool.jaxlint.per-file-ignores]\n"step.py" = ["JAX401"]\n'
    (project / "pyproject.toml").write_text('[tool.jaxlint]\nselect = ["JAX401"]\n' + ignores)
    assert run(*given, stdin=STEP) == (0, "All checks passed!\n", "")
    assert run("-", "--stdin-filename", "pkg/stop.py", "--select", "JAX401", stdin=STEP)[0] == 1
    isolated = (*given, "--isolated", "--select", "JAX401")
    assert run(*isolated, stdin=STEP)[0] == 1
    assert run(*isolated, stdin=STEP.replace("= 1", "= 1  # noqa: JAX401"))[0] == 0


def test_stdin_and_the_baseline(run: Run, project: Path) -> None:
    """The lines that the baseline knows are looked for in the text, not on disk."""
    assert run("-q", "--write-baseline", "known.json") == (0, "", "")
    (project / "pkg" / "step.py").write_text("x = 1\n")
    given = ("-", "--stdin-filename", "pkg/step.py", "--baseline", "known.json", "--output-format", "concise")
    assert run(*given, stdin="# new\n" + STEP) == (0, "All checks passed!\n", "")
    assert run(*given, stdin=STEP + "\n\ndef other(state: State):\n    state.x = 2\n")[0] == 1


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (b"x = '\xff'\n", "pkg/new.py:1:6: JAX001 byte 0xff is not valid utf-8"),
        (b"x = (\n", "pkg/new.py:1:5: JAX001 invalid syntax"),
        (b"\0", "pkg/new.py:1:1: JAX001 contains a null byte"),
    ],
)
def test_stdin_that_cannot_be_read(raw: bytes, place: str, run: Run) -> None:
    code, out, err = run("-", "--stdin-filename", "pkg/new.py", "--output-format", "concise", stdin=raw)
    assert (code, err) == (1, "")
    assert out.startswith(place)


def test_stdin_in_another_encoding(run: Run) -> None:
    raw = ("# coding: latin-1\n" + STEP.replace("= 1", "= 'é'; state.x = 2")).encode("latin-1")
    code, out, err = run("-", "--stdin-filename", "pkg/step.py", "--output-format", "concise", stdin=raw)
    assert (code, err) == (1, "")
    assert [line.split(" ")[0] for line in out.splitlines()[:2]] == ["pkg/step.py:6:5:", "pkg/step.py:6:20:"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["-", "pkg"],
        ["pkg", "-", "--stdin-filename", "a.py"],
        ["pkg/step.py", "--stdin-filename", "a.py"],
        ["-", "--add-noqa"],
        ["-", "--write-baseline", "baseline.json"],
        ["--show-files", "--add-noqa"],
        ["--show-files", "-"],
    ],
)
def test_what_does_not_go_together(arguments: list[str], run: Run, project: Path) -> None:
    before = sorted(os.listdir())
    code, out, err = run(*arguments, stdin=STEP)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("Error: ")
    assert sorted(os.listdir()) == before


def test_a_folder_is_no_name_for_stdin(run: Run) -> None:
    expected = (2, "", "jaxlint: error: --stdin-filename: pkg: Is a directory\n")
    assert run("-", "--stdin-filename", "pkg", stdin=STEP) == expected


def test_a_closed_stdin_is_reported() -> None:
    shell = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "jaxlint", "check", "-"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(shell, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "jaxlint: error: the standard input is closed\n")


# -- always the same -----------------------------------------------------------------------------

EVERY_FORMAT = """
import sys
from jaxlint.cli.main import main
from jaxlint.report import FORMATS, STATISTICS
for table, options in ((FORMATS, []), (STATISTICS, ["--statistics"])):
    for name in table:
        main(["check", *sys.argv[1:], "--isolated", "--select", "JAX401", "--output-format", name, *options])
"""


def test_same_bytes(project: Path) -> None:
    """Whatever the hash seed, the number of processes and the order of the paths."""
    (project / "pkg" / "broken.py").write_text("(")
    for number in range(4):
        (project / "pkg" / f"step{number}.py").write_text(STEP + STEP.replace("def step", "def other"))
    paths = sorted(str(path.relative_to(project)) for path in project.rglob("*.py"))

    def output(seed: int, jobs: int, paths: list[str]) -> bytes:
        command = [sys.executable, "-c", EVERY_FORMAT, f"-j{jobs}", *paths]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(seed)}
        done = subprocess.run(command, capture_output=True, env=environment, timeout=PATIENCE)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    expected = output(0, 1, paths)
    assert expected.count(b"JAX401") > 10 * 5
    assert output(1, 1, paths[::-1]) == expected
    assert output(42, 2, paths) == expected
