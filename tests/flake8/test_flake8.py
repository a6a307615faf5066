"""The real flake8 with the plugin: the findings of `jaxlint check`, whichever way flake8 runs."""

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from jaxlint.cli.main import main
from tests import forked

STATE = """\
import jax
from flax import struct


@struct.dataclass
class State:
    position: jax.Array
    name: str


@struct.dataclass
class Child(State):
    velocity: jax.Array
"""
STEP = """\
from pkg import State
from pkg.base import jitted


@jitted
def step(state: State) -> State:
    state.position = 1  # {comment}
    state.replace(velocity=1)
    return state.replace(
        position=1,
        speed=2,
    )
"""
BASE = """\
import jax

jitted = jax.jit
"""
LOCAL = """\
from flax import struct


def make(n):
    @struct.dataclass
    class Local:
        x: int

    return Local(n)


pair = make(1), make(2)
"""
START = """\
import multiprocessing, sys
from flake8.main.cli import main

if __name__ == "__main__":
    multiprocessing.set_start_method({method!r})
    sys.exit(main())
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("from .state import State as State\n")
    (package / "state.py").write_text(STATE)
    (package / "base.py").write_text(BASE)
    (package / "step.py").write_text(STEP.format(comment="assigned"))
    (package / "local.py").write_text(LOCAL)
    (package / "broken.py").write_text("def (:\n")
    (package / "latin.py").write_bytes(
        "# -*- coding: latin-1 -*-\nfrom pkg import State\n\n\ndef f(state: State) -> None:\n"
        "    'é'; state.name = 'é'\n".encode("latin-1")
    )
    (tmp_path / "plain.py").write_text("x = 1\n")
    return tmp_path


def flake8(project: Path, *arguments: str, text: str | None = None, method: str = "", **env: str) -> list[str]:
    """The lines about jaxlint's codes that flake8 prints, sorted."""
    arguments = ("--isolated", "--extend-ignore", "E,F,W", *arguments)
    environment = {**os.environ, "JAXLINT_NO_CACHE": "", **env}
    if method:
        (project / ".start.py").write_text(START.format(method=method))
        command = [sys.executable, str(project / ".start.py"), *arguments]
        done = subprocess.run(command, cwd=project, env=environment, input=text, capture_output=True, text=True)
    else:
        done = forked.run("flake8", arguments, project, environment, text or "")
    assert done.stderr == ""
    assert done.returncode == (1 if done.stdout else 0)
    return sorted(done.stdout.splitlines())


def places(lines: list[str]) -> list[tuple[str, int, int, str]]:
    found = [re.fullmatch(r"(?:\./)?(.+?):(\d+):(\d+): (JAX\d+) .+", line) for line in lines]
    assert all(found), lines
    return sorted((m[1], int(m[2]), int(m[3]), m[4]) for m in found if m)


def jaxlint(project: Path, *arguments: str) -> list[tuple[str, int, int, str]]:
    """What the command finds in the project, which is the current folder."""
    output = io.StringIO()
    with redirect_stdout(output):
        code = main(["check", "--output-format", "json", *(arguments or (".",))])
    assert code in (0, 1)
    return sorted(
        (os.path.relpath(f["filename"], project), f["location"]["row"], f["location"]["column"], f["code"])
        for f in json.loads(output.getvalue())
        if f["code"] != "JAX001"
    )


METHODS = ["", *(pytest.param(one, marks=pytest.mark.comparisons) for one in ("spawn", "forkserver"))]


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("method", METHODS)
def test_same_findings(project: Path, jobs: str, method: str) -> None:
    expected = jaxlint(project)
    assert {path for path, *_ in expected} == {"pkg/state.py", "pkg/step.py", "pkg/latin.py"}
    assert len(expected) >= 4
    cold = flake8(project, "-j", jobs, method=method)
    assert places(cold) == expected
    assert flake8(project, "-j", jobs, method=method) == cold


@pytest.mark.parametrize("method", METHODS)
def test_without_cache(project: Path, method: str) -> None:
    expected = jaxlint(project)
    assert places(flake8(project, "-j", "2", "--jaxlint-cache-dir", "", method=method)) == expected
    assert not (project / ".jaxlint_cache").exists()
    locked = project / "locked"
    locked.write_text("a file where the folder should be")
    assert places(flake8(project, "-j", "2", method=method, JAXLINT_CACHE_DIR=str(locked))) == expected


def test_partial_list(project: Path) -> None:
    names = ["pkg/step.py", "plain.py"]
    assert places(flake8(project, *names)) == jaxlint(project, *names)
    assert places(flake8(project, "pkg/step.py", "-j", "2")) == jaxlint(project, "pkg/step.py")


def test_edits_are_seen(project: Path) -> None:
    before = places(flake8(project))
    (project / "pkg" / "state.py").write_text(STATE.replace("    velocity: jax.Array\n", "    speed: jax.Array\n"))
    after = places(flake8(project))
    assert after == jaxlint(project) != before


def test_standard_input(project: Path) -> None:
    text = STEP.format(comment="assigned")
    (line, *rest) = places(flake8(project, "--stdin-display-name", "pkg/other.py", "-", text=text))
    assert line == ("pkg/other.py", 7, 5, "JAX401")
    assert {code for *_, code in rest} == {"JAX402", "JAX403"}


def test_flake8_suppresses(project: Path) -> None:
    (project / "pkg" / "step.py").write_text(STEP.format(comment="noqa: JAX401"))
    codes = [code for path, *_, code in places(flake8(project)) if path == "pkg/step.py"]
    assert "JAX401" not in codes and "JAX402" in codes
    codes = [code for path, *_, code in places(flake8(project, "--disable-noqa")) if path == "pkg/step.py"]
    assert "JAX401" in codes


@pytest.mark.pypi
def test_flake8_noqa_sees_what_comments_hide(project: Path, tmp_path: Path) -> None:
    """Of the comments of flake8 it says which hide nothing; what our own comments hide, flake8 does not see."""
    folder = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), "flake8-noqa==1.5.0"]
    subprocess.run(install, check=True)
    lines = ["position = 1  # noqa: JAX401", "position = 2  # jaxlint: ignore[JAX401]", "position = 3  # noqa: JAX403"]
    text = STEP.partition("@jitted")[0] + "def f(state: State) -> None:\n" + "".join(f"    state.{s}\n" for s in lines)
    (project / "pkg" / "noqa.py").write_text(text)
    found = flake8(project, "pkg/noqa.py", PYTHONPATH=str(folder))
    row = text.count("\n")
    assert [line.split()[:2] for line in found if " JAX002 " not in line] == [
        [f"pkg/noqa.py:{row}:25:", "NQA102"],
        [f"pkg/noqa.py:{row}:5:", "JAX401"],
    ]


def test_selection(project: Path) -> None:
    """A rule that is off by default is ignored until it is selected; flake8 selects among the others."""
    assert "JAX109" not in {code for *_, code in places(flake8(project))}
    done = forked.run("flake8", ("--isolated", "--extend-select", "JAX109", "pkg/local.py"), project)
    assert "JAX109" in done.stdout, done.stderr
    assert "JAX109" in forked.run("flake8", ("--isolated", "--select", "JAX1", "pkg/local.py"), project).stdout
    assert {code for *_, code in places(flake8(project, "--extend-ignore", "E,F,W,JAX4"))} == {"JAX205"}


@pytest.mark.parametrize("option", ["--select", "--extend-select"])
def test_the_name_of_the_plugin_turns_on_no_rule_that_is_off(project: Path, option: str) -> None:
    """Whoever sets `select` has to name each plugin; that asks for nothing more of it."""
    done = forked.run("flake8", ("--isolated", option, "JAX", "pkg/"), project)
    assert "JAX4" in done.stdout and "JAX109" not in done.stdout, done.stderr


def test_configuration(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.jaxlint]\nignore = ["JAX403"]\n')
    assert places(flake8(project)) == jaxlint(project)
    (project / "other.toml").write_text('ignore = ["JAX401", "JAX402"]\n')
    codes = {code for *_, code in places(flake8(project, "--jaxlint-config", "other.toml"))}
    assert codes == {"JAX205", "JAX403"}
    (project / "tox.ini").write_text("[flake8]\nselect = JAX\njaxlint-min-confidence = high\n")
    done = subprocess.run([sys.executable, "-m", "flake8"], cwd=project, capture_output=True, text=True, check=False)
    high = jaxlint(project, "--min-confidence", "high", ".")
    assert places(sorted(done.stdout.splitlines())) == high


def test_what_the_configuration_excludes_is_left_out(project: Path) -> None:
    """Also where it is named, as what flake8's own `exclude` names; and it tells nothing of other files."""
    before = places(flake8(project))
    (project / "pyproject.toml").write_text('[tool.jaxlint]\nexclude = ["step.py", "latin.py"]\n')
    after = places(flake8(project))
    assert after == jaxlint(project)
    assert {name for name, *_ in before} - {name for name, *_ in after} >= {"pkg/step.py", "pkg/latin.py"}
    assert flake8(project, "pkg/step.py", "pkg/latin.py") == []
    text = (project / "pkg" / "step.py").read_text()
    assert flake8(project, "--stdin-display-name", "pkg/step.py", "-", text=text) == []
    assert places(flake8(project, "pkg/state.py")) == [place for place in after if place[0] == "pkg/state.py"]


@pytest.mark.parametrize("text", ["[tool.jaxlint]\nselct = []\n", "[tool.jaxlint\n"])
def test_bad_configuration(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(text)
    done = forked.run("flake8", ("pkg/step.py",), project)
    assert done.returncode == 1
    assert re.search(r"There was a critical error during execution of Flake8:\njaxlint: pyproject.toml:\d", done.stdout)
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("selection", [[], ["--select", "E"]])
def test_bad_configuration_of_a_folder(project: Path, selection: list[str]) -> None:
    """What is wrong below the current folder is an error, whatever is selected."""
    (project / "pkg" / "jaxlint.toml").write_text("selct = []\n")
    done = forked.run("flake8", ("-j1", *selection, "pkg/step.py"), project)
    assert done.returncode == 1
    assert "pkg/jaxlint.toml:1: unknown key `selct`" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("comment", ["# flake8: noqa", "# flake8: noqa: JAX4"])
def test_comments_for_the_file(project: Path, comment: str) -> None:
    """Both faces read them alike."""
    step = project / "pkg" / "step.py"
    before = jaxlint(project)
    step.write_text(step.read_text() + f"\n{comment}\n")
    after = jaxlint(project)
    assert places(flake8(project)) == after
    assert len(after) < len(before)


@pytest.mark.parametrize(
    ("option", "value"), [("--jaxlint-min-confidence", "none"), ("--jaxlint-python", "nowhere/python")]
)
def test_a_wrong_option_is_called_by_its_name(project: Path, option: str, value: str) -> None:
    done = forked.run("flake8", (option, value, "pkg/step.py"), project)
    assert done.returncode == 1
    assert f"jaxlint: {option}: " in done.stdout


def test_bad_option(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flake8", "--jaxlint-config", "gone.toml", "pkg/step.py"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "gone.toml" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
