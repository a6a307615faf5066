"""Beyond one machine: facts that were found out elsewhere, and parts of a run, give what one run gives."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import jaxlint.symbols.parsing
from jaxlint.cli import main as cli
from jaxlint.errors import UserError
from jaxlint.finding import Confidence, Finding
from jaxlint.linter.checker import Checker
from jaxlint.linter.engine import check_paths
from jaxlint.linter.result import Result, codes_checked
from jaxlint.linter.shards import Shard
from jaxlint.symbols.outline import Outline
from tests.small_project import BOTH, STATE, STEP, write_project

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = write_project(tmp_path / "project")
    (folder / "pyproject.toml").touch()
    (folder / "broken.py").write_text("def (\n")
    (folder / "latin.py").write_bytes(b"x = '\xff'\n")
    monkeypatch.chdir(folder)
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


class Parsing:
    """Counts how many texts are parsed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        read = jaxlint.symbols.parsing.outline_of

        def counted(text: str, keep: Callable[[ast.Module], None] | None = None) -> Outline:
            self.count += 1
            return read(text, keep)

        monkeypatch.setattr(jaxlint.symbols.parsing, "outline_of", counted)


def test_nothing_is_parsed_twice(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = run(capsys, "check", "--output-format", "json")
    assert plain[0] == 1
    for number, names in enumerate([["state.py", "made.py"], ["step.py", "used.py", "broken.py", "latin.py"]]):
        assert run(capsys, "facts", "-q", *names, "--output", f"{number}.facts") == (0, "", "")
    parsing = Parsing(monkeypatch)
    assert run(capsys, "check", "--facts", "0.facts", "--facts", "1.facts", "--output-format", "json") == plain
    assert parsing.count == 0
    # facts of what a file was are not those of what it is
    (project / "state.py").write_text(STATE.replace("x:", "y:"))
    (project / "new.py").write_text(STEP.format(field="x"))
    changed = run(capsys, "check", "--facts", "0.facts", "--facts", "1.facts", "--output-format", "json")
    assert parsing.count == 2
    assert changed == run(capsys, "check", "--output-format", "json") != plain


def test_the_command_says_what_it_did(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "facts", "--output", "all.facts") == (0, "", "all.facts holds the facts of 5 files\n")
    (project / "empty").mkdir()
    assert run(capsys, "facts", "empty", "--output", "none.facts") == (0, "", "none.facts holds the facts of 0 files\n")
    assert run(capsys, "check", "-q", "--facts", "none.facts")[0] == 1


FACTS = """
import sys; sys.path.insert(0, sys.argv[1])
from jaxlint.cli.main import main
sys.exit(main(["facts", "-q", ".", "--output", sys.argv[2]]))
"""


def test_facts_are_a_function_of_the_contents(project: Path, tmp_path: Path) -> None:
    """The same bytes for every hash seed, in every place, at every time: build systems rely on it."""
    shutil.copytree(project, tmp_path / "elsewhere", copy_function=shutil.copyfile)
    made = set()
    for seed, folder in enumerate(["project", "elsewhere", "project"]):
        output = tmp_path / f"{seed}.facts"
        subprocess.run(
            [sys.executable, "-c", FACTS, str(ROOT), str(output)],
            cwd=tmp_path / folder, check=True, env={**os.environ, "PYTHONHASHSEED": str(seed)},
        )  # fmt: skip
        made.add(output.read_bytes())
    assert len(made) == 1


def garbage(path: Path) -> None:
    path.write_text("x = 1\n")


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def other(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"jaxlint facts 0", b"jaxlint facts 9"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (garbage, "holds no facts of jaxlint"),
        (torn, "is incomplete or damaged"),
        (other, "holds the facts of another jaxlint, or of another version of Python"),
        (Path.unlink, "cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_file_of_facts(
    project: Path, capsys: pytest.CaptureFixture[str], change: Callable[[Path], None], message: str
) -> None:
    assert run(capsys, "facts", "-q", "--output", "f")[0] == 0
    change(project / "f")
    error = f"jaxlint: error: --facts: f: {message}; make it with `jaxlint facts`\n"
    assert run(capsys, "check", "--facts", "f") == (2, "", error)


@pytest.mark.parametrize("output", ["no/where", "/proc/facts", "."])
def test_facts_that_cannot_be_written(project: Path, capsys: pytest.CaptureFixture[str], output: str) -> None:
    code, out, err = run(capsys, "facts", "--output", output)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"jaxlint: error: --output: {output}: ")


# -- shards -------------------------------------------------------------------------------------


def shards(count: int) -> list[Result]:
    return [check_paths(["."], shard=Shard(number, count)) for number in range(1, count + 1)]


def union(results: list[Result]) -> list[Finding]:
    return sorted((f for result in results for f in result.findings), key=lambda f: f.sort_key)


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_shards_are_one_run(project: Path, count: int) -> None:
    whole = check_paths(["."])
    parts = shards(count)
    assert union(parts) == whole.findings
    assert len(whole.findings) == len(BOTH) + 2
    assert sum(part.files for part in parts) == whole.files == 6
    assert set().union(*(codes_checked(part.checked) for part in parts)) == set(codes_checked(whole.checked))


def test_shards_depend_on_paths_in_the_checkout_alone(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [path.name for path in project.glob("*.py")]
    here = {name: Shard(1, 3).holds(str(project / name)) for name in names}
    assert len(set(here.values())) == 2
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir("other")
    assert {name: Shard(1, 3).holds(os.path.abspath(name)) for name in names} == here


def test_a_guess_that_another_shard_knows_for_certain(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out of one run because of another file is left out of the shard as well."""
    finding = Checker._finding

    def of_one_subject(self: Checker, *arguments: Any) -> Finding:
        made = finding(self, *arguments)
        sure = Confidence.LOW if made.path.endswith("step.py") else Confidence.HIGH
        return replace(made, code="JAX402", subject="the same", confidence=sure)

    monkeypatch.setattr(Checker, "_finding", of_one_subject)
    for name in ("broken.py", "latin.py"):
        (project / name).unlink()
    whole = check_paths(["."])
    assert [Path(f.path).name for f in whole.findings] == ["used.py"]
    for count in (2, 3, 4, 5):
        assert union(shards(count)) == whole.findings


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3", ""])
def test_what_is_no_shard(project: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    code, out, err = run(capsys, "check", f"--shard={text}")
    assert (code, out) == (2, "")
    assert f"Invalid value for '--shard': {text!r} is not K/N with K from 1 to N, like 2/4." in err


def test_shards_of_the_command(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = run(capsys, "check", "-q", "--output-format", "concise")[1].splitlines()
    parts = [run(capsys, "check", "-q", "--output-format", "concise", "--shard", f"{k}/3") for k in (1, 2, 3)]
    assert sorted(line for _, out, _ in parts for line in out.splitlines()) == sorted(whole)
    assert {code for code, _, _ in parts} <= {0, 1}
    assert run(capsys, "check", "--shard", "1/2", "-")[0] == 2


def test_facts_must_be_there_for_a_check(project: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        check_paths(["."], facts=["nowhere"])
