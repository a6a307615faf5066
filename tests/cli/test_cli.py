"""The command line: what goes where, and with which exit code it ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import jaxlint.fixes.running  # which takes what is patched below as it is when it is imported
import jaxlint.linter.checker
import jaxlint.linter.engine
import jaxlint.rules
from jaxlint import __version__
from jaxlint.cli import main as cli
from jaxlint.config.configuration import Configuration
from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence, Finding, Severity
from jaxlint.linter.draw import Target
from jaxlint.project.files import PathError, Patterns
from jaxlint.report.drawing import Drawing
from jaxlint.rules.base import Rule

PROJECT = str(Path(__file__).parents[2])


class FrozenAssignment(Rule):
    """## What it does

    Finds assignments to frozen instances.

    ## Why is this bad?

    They raise.
    """

    code, name, group, since = "JAX401", "frozen-assignment", "update", "0.1.0"


class StaleState(Rule):
    """## What it does

    Finds updates that are lost.
    """

    code, name, group, since = "JAX407", "returned-old-state", "update", "0.2.0"
    severity, confidence, enabled, preview = Severity.WARNING, Confidence.LOW, False, True


class Engine:
    """Stands for `jaxlint.linter.engine`: keeps what it is asked, and answers what a test wants."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[str, ...], Settings, int]] = []
        self.findings: list[Finding] = []
        self.files = 1
        self.errors: list[str] = []
        self.failure: BaseException | None = None

    def check_paths(
        self,
        paths: Sequence[str],
        configuration: Configuration,
        *,
        jobs: int = 1,
        progress: Callable[[int, int], None] | None = None,
        **rest: object,
    ) -> types.SimpleNamespace:
        self.calls.append((tuple(paths), configuration.settings(paths[0]), jobs))
        if self.failure is not None:
            raise self.failure
        checked = [(configuration.settings(paths[0]), paths)]
        return types.SimpleNamespace(
            findings=self.findings, files=self.files, errors=self.errors, suppressed=[], stale=[], checked=checked
        )


@pytest.fixture(autouse=True)
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jaxlint.rules, "all_rules", lambda: (FrozenAssignment, StaleState))
    stub = Engine()
    monkeypatch.setattr(jaxlint.linter.engine, "check_paths", stub.check_paths)
    monkeypatch.setattr(jaxlint.linter.engine, "check_content", stub.check_paths)
    return stub


def finding(severity: Severity = Severity.ERROR) -> Finding:
    path = os.path.abspath("a.py")
    return Finding(path, 2, 1, 2, 4, "JAX401", "frozen-assignment", "a message", severity, Confidence.HIGH)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run_main(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_main


Run = Callable[..., tuple[int, str, str]]


def test_clean(run: Run, engine: Engine) -> None:
    assert run("check", "--isolated") == (0, "All checks passed!\n", "")
    assert [paths for paths, _, _ in engine.calls] == [(".",)]


def test_findings(run: Run, engine: Engine) -> None:
    Path("a.py").write_text("x\nabc\n")
    engine.findings = [finding()]
    assert run("check", "a.py", "--output-format", "concise") == (1, "a.py:2:1: JAX401 a message\nFound 1 error.\n", "")
    full = (
        "JAX401 a message\n --> a.py:2:1\n  |\n1 | x\n2 | abc\n  | ^^^\n  |\n"
        "  = see: https://jaxlint-pytree.readthedocs.io/en/latest/rules/frozen-assignment/\n\n"
    )
    assert run("check") == (1, full + "Found 1 error.\n", "")
    assert run("check", "--output-format=full", "-q") == (1, full, "")
    code, out, err = run("check", "--output-format", "json")
    assert (code, err) == (1, "")
    assert [one["code"] for one in json.loads(out)] == ["JAX401"]
    assert out.endswith("]\n")


def test_warnings_are_findings(run: Run, engine: Engine) -> None:
    engine.findings = [finding(Severity.INFO)]
    assert run("check", "--output-format", "concise")[0] == 1


def test_exit_zero(run: Run, engine: Engine) -> None:
    engine.findings = [finding()]
    code, out, err = run("check", "--exit-zero", "--output-format", "concise")
    assert (code, out, err) == (0, "a.py:2:1: JAX401 a message\nFound 1 error.\n", "")
    engine.errors = ["a.py: rule JAX401 failed"]
    assert run("check", "--exit-zero")[0] == 2


def test_quiet(run: Run, engine: Engine) -> None:
    engine.findings = [finding()]
    assert run("check", "--quiet", "--output-format", "concise") == (1, "a.py:2:1: JAX401 a message\n", "")
    engine.findings = []
    assert run("check", "-q") == (0, "", "")
    engine.files = 0
    assert run("check", "-q") == (0, "", "")


def test_no_files(run: Run, engine: Engine) -> None:
    engine.files = 0
    warning = "jaxlint: warning: no Python files found under the given paths\n"
    assert run("check") == (0, "", warning)
    assert run("check", "--output-format", "json") == (0, "[]\n", warning)


def test_the_current_directory_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m jaxlint check ."
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "the current directory cannot be used" in done.stderr


def test_internal_errors_of_rules(run: Run, engine: Engine) -> None:
    engine.findings = [finding()]
    engine.errors = ["/x.py: JAX401 failed in jaxlint 0.1.0: KeyError: 'a'", "another"]
    expected = (
        "jaxlint: internal error: /x.py: JAX401 failed in jaxlint 0.1.0: KeyError: 'a'\n"
        "jaxlint: internal error: another\n"
    )
    assert run("check", "--output-format", "concise") == (
        2,
        "a.py:2:1: JAX401 a message\nFound 1 error.\n",
        expected,
    )
    engine.findings = []
    assert run("check") == (2, "", expected)
    assert run("check", "--output-format", "json") == (2, "[]\n", expected)


def test_options_reach_the_engine(run: Run, engine: Engine, tmp_path: Path) -> None:
    Path("pyproject.toml").write_text('[tool.jaxlint]\nselect = ["JAX407"]\nignore = ["JAX401"]\nsrc = ["src"]\n')
    Path("other.toml").write_text('exclude = ["gen"]\n')
    Path("env").mkdir()
    here = str(tmp_path)
    run("check", "a", "b", "-j", "3")
    run("check", "--select", "JAX4, frozen-assignment", "--select=ALL", "--ignore", "JAX407", "--exclude", "a,b/*")
    run("check", "--ignore", "JAX407")
    run("check", "--isolated", "--python", "env")
    run("check", "--config", "other.toml")
    cpus = len(os.sched_getaffinity(0))
    src = (f"{here}/src",)
    excluded = (Patterns(here, ("a", "b/*")),)
    everything = ("JAX4", "frozen-assignment", "ALL")
    assert engine.calls == [
        (("a", "b"), Settings(("JAX407",), ("JAX401",), src=src), 3),
        ((".",), Settings(everything, ("JAX407",), exclude=excluded, src=src), cpus),
        ((".",), Settings(("JAX407",), ("JAX401", "JAX407"), src=src), cpus),
        ((".",), Settings(python=f"{here}/env"), cpus),
        ((".",), Settings(exclude=(Patterns(here, ("gen",)),)), cpus),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["check", "--select", "JAX410"],
            "jaxlint: error: --select: unknown rule `JAX410`; `jaxlint rule` lists all rules\n",
        ),
        (["check", "--python", "gone"], "jaxlint: error: --python: names gone, which does not exist\n"),
        (["check", "--config", "gone.toml"], "jaxlint: error: gone.toml: cannot be read: No such file or directory\n"),
        (
            ["check", "--config", "bad.toml"],
            "jaxlint: error: bad.toml:1: unknown key `slect`; did you mean `select`?\n",
        ),
        (["rule", "JAX402"], "jaxlint: error: unknown rule `JAX402`; `jaxlint rule` lists all rules\n"),
        (["rule", "frost"], "jaxlint: error: unknown rule `frost`; `jaxlint rule` lists all rules\n"),
        (["tree", "gone.py::A"], "jaxlint: error: gone.py: No such file or directory\n"),
        (
            ["tree", "gone.package", "--python", sys.prefix],
            f"jaxlint: error: gone.package: neither a file nor an installed package of {sys.prefix}\n",
        ),
        (["tree", "gone/package"], "jaxlint: error: gone/package: No such file or directory\n"),
        (["tree", ".::A"], "jaxlint: error: .: is a folder; name a file for `A`\n"),
    ],
)
def test_mistakes_are_one_line(run: Run, engine: Engine, arguments: list[str], message: str) -> None:
    Path("bad.toml").write_text("slect = []\n")
    assert run(*arguments) == (2, "", message)
    assert engine.calls == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chek"], "No such command 'chek'"),
        (["check", "--slect", "x"], "No such option '--slect'"),
        (["check", "--output-format", "xml"], "'xml' is not one of 'full', 'concise', 'grouped', 'json'"),
        (["check", "--select", ""], "the list is empty."),
        (["check", "--exclude", " ,"], "the list is empty."),
        (["check", ""], "Invalid value for '[PATHS]...': the path is empty."),
        (["check", "a.py", ""], "Invalid value for '[PATHS]...': the path is empty."),
        (["check", "--baseline", ""], "Invalid value for '--baseline': the path is empty."),
        (["check", "--config", ""], "Invalid value for '--config': the path is empty."),
        (["check", "--cache-dir", ""], "Invalid value for '--cache-dir': the path is empty."),
        (["config", ""], "Invalid value for '[PATH]': the path is empty."),
        (["tree", ""], "Invalid value for '[PATH|PACKAGE[::CLASS]]...': the path is empty."),
        (["check", "-j", "0"], "0 is not in the range x>=1"),
        (["check", "-j", "many"], "'many' is not a valid integer"),
        (["check", "--config", "x.toml", "--isolated"], "--config and --isolated exclude each other."),
        (["rule", "JAX401", "--all"], "Give the code or the name of one rule, or --all."),
        (["tree", "--output-format", "png"], "Invalid value for '--output-format'"),
    ],
)
def test_wrong_usage(run: Run, engine: Engine, arguments: list[str], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err.replace('"', "'").replace(": --slect", " '--slect'")
    assert err.startswith("Usage: jaxlint")
    assert engine.calls == []


def test_missing_path(run: Run, engine: Engine) -> None:
    engine.failure = PathError("gone.py: No such file or directory")
    assert run("check", "gone.py") == (2, "", "jaxlint: error: gone.py: No such file or directory\n")


def test_crash_is_one_line(run: Run, engine: Engine) -> None:
    engine.failure = ValueError("bad\nthing")
    code, out, err = run("check")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("jaxlint: internal error: ValueError: bad thing (cli/main.py:")
    python = ".".join(map(str, sys.version_info[:3]))
    assert err.endswith(f", jaxlint {__version__}, Python {python}); please report it\n")


@pytest.mark.parametrize("failure", [RecursionError("too deep"), MemoryError()])
def test_exhaustion_is_one_line(run: Run, engine: Engine, failure: Exception) -> None:
    engine.failure = failure
    code, out, err = run("check")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"jaxlint: internal error: {type(failure).__name__}: ")


def test_interrupt(run: Run, engine: Engine) -> None:
    engine.failure = KeyboardInterrupt()
    code, out, err = run("check")
    assert (code, out, err.strip()) == (130, "", "")


def test_version_and_help(run: Run) -> None:
    assert run("--version") == (0, f"jaxlint {__version__}\n", "")
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines()] == [
        "check",
        "clean",
        "config",
        "facts",
        "rule",
        "server",
        "tree",
    ]
    assert run("check", "-h")[0] == 0


def test_rule_text(run: Run) -> None:
    page = (
        "# frozen-assignment (JAX401)\n\nerror, high confidence, on by default, since 0.1.0\n\n"
        "## What it does\n\nFinds assignments to frozen instances.\n\n## Why is this bad?\n\nThey raise.\n"
    )
    assert run("rule", "JAX401") == (0, page, "")
    assert run("rule", "jax401") == (0, page, "")
    assert run("rule", "Frozen-Assignment") == (0, page, "")
    other = (
        "# returned-old-state (JAX407)\n\nwarning, low confidence, off by default, since 0.2.0, preview\n\n"
        "## What it does\n\nFinds updates that are lost.\n"
    )
    assert run("rule", "--all") == (0, page + "\n" + other, "")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("chekc", "; did you mean `check`?"),
        ("train.py", "; did you mean `jaxlint check train.py`?"),
        ("explain", "; did you mean `jaxlint rule`?"),
        ("gone.py", ""),
    ],
)
def test_what_is_no_command_may_mean_one(run: Run, given: str, meant: str) -> None:
    Path("train.py").write_text("")
    code, out, err = run(given)
    assert (code, out) == (2, "") and err.endswith(f"Error: No such command '{given}'{meant}\n")


def test_rules_are_found_by_a_part_of_their_names(run: Run) -> None:
    code, out, err = run("rule", "assign")
    assert (code, err) == (0, "") and [line.split()[:2] for line in out.splitlines()] == [
        ["JAX401", "frozen-assignment"]
    ]


def test_rules_are_listed(run: Run) -> None:
    first = "JAX401  frozen-assignment   assignments to frozen instances\n"
    second = "JAX407  returned-old-state  updates that are lost  (off by default)\n"
    assert run("rule") == (0, first + second, "")
    assert run("rule", "jax4") == (0, first + second, "")
    assert run("rule", "update") == (0, first + second, "")
    assert run("rule", "JAX407")[1].startswith("# returned-old-state (JAX407)")
    _, out, _ = run("rule", "--output-format", "json")
    assert [rule["code"] for rule in json.loads(out)] == ["JAX401", "JAX407"]


@pytest.mark.parametrize(("choice", "colored"), [("always", True), ("never", False), ("auto", False)])
def test_color(run: Run, engine: Engine, choice: str, colored: bool) -> None:
    engine.findings = [finding()]
    _, out, _ = run("check", "--color", choice)
    assert ("\x1b[" in out) == colored


def test_verbose(run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "venv" / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    code, _, err = run("check", "--verbose")
    assert code == 0
    assert re.search(r"^jaxlint: 1 file with 0 pytree classes checked in \d\.\d\d s$", err, re.M)
    assert f"jaxlint: installed packages are read from {tmp_path / 'venv'}\n" in err
    monkeypatch.delenv("VIRTUAL_ENV")
    assert "no environment is activated" in run("check", "-v")[2]
    assert run("check", "-v", "-q")[0] == 2


def test_rule_json(run: Run) -> None:
    code, out, err = run("rule", "JAX407", "--output-format", "json")
    stale = {
        "code": "JAX407",
        "name": "returned-old-state",
        "group": "update",
        "severity": "warning",
        "confidence": "low",
        "enabled": False,
        "preview": True,
        "since": "0.2.0",
        "summary": "Finds updates that are lost",
        "explanation": "## What it does\n\nFinds updates that are lost.",
        "url": "https://jaxlint-pytree.readthedocs.io/en/latest/rules/returned-old-state/",
    }
    assert (code, json.loads(out), err) == (0, stale, "")
    code, out, err = run("rule", "--all", "--output-format", "json")
    assert [rule["code"] for rule in json.loads(out)] == ["JAX401", "JAX407"]
    assert json.loads(out)[1] == stale


@pytest.mark.parametrize(
    ("target", "call"),
    [
        ("a.py", ("a.py", None)),
        ("a.py::A", ("a.py", "A")),
        ("a.py::A.B", ("a.py", "A.B")),
        ("a::b.py", ("a::b.py", None)),
        ("a::b.py::A", ("a::b.py", "A")),
        ("pack", ("pack", None)),
        ("pack.inner", ("{}/pack/inner.py", None)),
        ("pack.inner::A", ("{}/pack/inner.py", "A")),
        (None, (".", None)),
    ],
)
def test_tree(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, target: str | None, call: tuple[str, str | None]
) -> None:
    calls: list[tuple[str, str | None]] = []

    def draw(targets: Sequence[Target], configuration: Configuration, *, sources: bool) -> Drawing:
        calls.extend((one.path, one.class_name) for one in targets)
        return Drawing((), {}, errors=("a rule failed",) * bool(target is None))

    monkeypatch.setattr("jaxlint.linter.draw.draw", draw)
    Path("pack").mkdir()
    for file in ("a.py", "a::b.py", "pack/__init__.py", "pack/inner.py"):
        Path(file).touch()
    expected = (0, "\n", "") if target else (2, "\n", "jaxlint: internal error: a rule failed\n")
    assert run("tree", *([target] if target else [])) == expected
    assert calls == [(call[0].format(os.path.realpath(tmp_path)), call[1])]


def test_tree_writes_to_a_file(run: Run) -> None:
    Path("a.py").write_text("from flax import struct\n@struct.dataclass\nclass A:\n    x: int\n")
    for form in ("text", "mermaid", "svg", "html", "json"):
        assert run("tree", "a.py", "--output-format", form, "-o", f"out/{form}") == (0, "", "")
        assert "x" in Path(f"out/{form}").read_text()
