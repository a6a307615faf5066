"""The README shows what jaxlint really says."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from jaxlint.rules import all_rules
from tests import forked

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"\$ (?P<command>jaxlint check .*?(?P<file>\S+\.py))")


def example() -> tuple[str, re.Match[str], list[str]]:
    """The first program of the README, the command below it, and what that prints."""
    blocks = [(m["language"], m["text"]) for m in BLOCK.finditer((ROOT / "README.md").read_text(encoding="utf-8"))]
    first = next(number for number, (language, _) in enumerate(blocks) if language == "python")
    language, console = blocks[first + 1]
    assert language == "console"
    command, *shown = console.splitlines()
    match = COMMAND.fullmatch(command)
    assert match is not None, command
    return blocks[first][1], match, shown


def jaxlint(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    return forked.run("jaxlint", arguments, cwd, environment)


def test_first_example(tmp_path: Path) -> None:
    program, command, shown = example()
    (tmp_path / command["file"]).write_text(program, encoding="utf-8")
    done = jaxlint(command["command"].split()[1:], tmp_path)
    assert done.stdout.splitlines() == shown
    assert (done.returncode, done.stderr) == (1, "")
    assert sum(line.startswith(f"{command['file']}:") for line in shown) >= 2


def test_it_is_short() -> None:
    """A page, and of each rule some ten words; a piece of code counts as one."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 200
    said = {rule.code: re.sub(r"`[^`]*`", "code", rule.in_short()).split() for rule in all_rules()}
    assert {code: " ".join(words) for code, words in said.items() if len(words) > 12} == {}


def test_the_configuration_works_as_printed(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = [m["text"] for m in BLOCK.finditer(text) if m["text"].startswith("[tool.jaxlint]")]
    program, command, shown = example()
    (tmp_path / "pyproject.toml").write_text(block, encoding="utf-8")
    (tmp_path / command["file"]).write_text(program, encoding="utf-8")
    done = jaxlint(command["command"].split()[1:], tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[0] == shown[0]
    assert "JAX202" in "".join(shown)
    assert "JAX202" not in done.stdout


def test_shown_commands_exist() -> None:
    """Every `jaxlint` command and option in a console block is one of the program."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    consoles = [m["text"] for m in BLOCK.finditer(text) if m["language"] == "console"]
    commands = {line.split()[2] for block in consoles for line in block.splitlines() if line.startswith("$ jaxlint ")}
    options = {
        word
        for block in consoles
        for line in block.splitlines()
        for word in re.findall(r"(?<=\s)--[a-z][a-z-]+", line)
        if "jaxlint check" in line
    }
    assert commands >= {"check", "rule", "tree"}
    done = jaxlint(["--help"], ROOT)
    assert commands <= set(done.stdout.split())
    helped = jaxlint(["check", "--help"], ROOT).stdout
    assert [option for option in sorted(options) if option not in helped] == []


def test_options_are_shown_with_what_they_need() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"`(?:jaxlint \w+ )?(--[a-z-]+)( [^`]+)?`", text)
    helped = "".join(jaxlint([command, "--help"], ROOT).stdout for command in ("check", "tree"))
    needing = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+) [A-Z\[]", helped, re.MULTILINE))
    assert {"--python", "--write-baseline", "--min-confidence"} <= needing
    assert [option for option, value in shown if option in needing and not value] == []


def test_what_the_mypy_plugin_needs_is_said() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("\n## mypy\n")[2].partition("\n## ")[0]
    oldest = re.search(
        r'^mypy = \["mypy>=([\d.]+)"\]', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert oldest is not None and f"mypy {oldest[1]} or later" in section
    assert "installed where mypy looks for them (`--python-executable`)" in section


@pytest.mark.parametrize("code", ["0", "1", "2"])
def test_exit_codes(code: str, tmp_path: Path) -> None:
    assert f"| {code} |" in (ROOT / "docs" / "output.md").read_text(encoding="utf-8")
    (tmp_path / "clean.py").write_text("x = 1\n")
    (tmp_path / "broken.py").write_text("x = (\n")
    arguments = {"0": ["clean.py"], "1": ["broken.py"], "2": ["gone.py"]}[code]
    assert jaxlint(["check", *arguments], tmp_path).returncode == int(code)


def test_what_ci_can_use_is_documented() -> None:
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    sections = {part.partition("\n")[0]: part for part in text.split("\n## ")[1:]}
    inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    assert [name for name in inputs if f"\n| `{name}` |" not in sections["GitHub"]] == []
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["id"] for hook in hooks if f"\n| `{hook['id']}` |" not in sections["pre-commit"]] == []
    assert "--output-format gitlab" in sections["GitLab"]
