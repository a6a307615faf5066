"""`jaxlint config`, and what is written of the configuration: its schema and its page."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from jaxlint.config.configuration import Configuration
from jaxlint.config.table import all_keys
from jaxlint.report import configuration as documentation
from tests.command import run
from tests.config.sample import FULL, pyproject

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
KEYS = all_keys()


pytestmark = pytest.mark.usefixtures("sample_rules")


def test_config_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("project/.venv").mkdir(parents=True)
    pyproject(FULL, "project/pyproject.toml")
    code, out, err = run(capsys, "config", "project", "--ignore", "JAX407", "--config", "target-jax = '0.5.0'")
    assert (code, err) == (0, "")
    assert tomllib.loads(out) == {
        **tomllib.loads(FULL)["tool"]["jaxlint"],
        "ignore": ["static-counter", "JAX407"],
        "target-jax": "0.5.0",
        "src": [f"{tmp_path}/project/src", f"{tmp_path}/lib"],
        "python": f"{tmp_path}/project/.venv",
        "baseline": f"{tmp_path}/project/known.json",
    }
    assert 'ignore = ["static-counter", "JAX407"]  # project/pyproject.toml:4, --ignore\n' in out
    assert 'target-jax = "0.5.0"  # --config\n' in out
    assert "[per-file-ignores]  # project/pyproject.toml:23\n" in out
    assert "# 1 rules run:\n#   JAX001 unreadable-file\n" in out
    assert f"# Installed packages are read from {tmp_path}/project/.venv\n" in out
    code, out, err = run(capsys, "config", "--isolated")
    assert 'min-confidence = "medium"  # default\n' in out
    assert "# baseline is not set\n" in out
    assert "# No environment is activated, and there is no .venv, so installed packages are not read\n" in out


def test_config_command_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pyproject("[tool.jaxlint]\n\nselect = ['JAX4']\nper-file-ignores.'a.py' = ['JAX4']\n")
    Path("a.py").touch()
    code, out, err = run(capsys, "config", "a.py", "--output-format", "json", "--preview")
    assert (code, err) == (0, "")
    content = json.loads(out)
    assert (content["path"], content["rules"]) == (f"{tmp_path}/a.py", ["JAX001"])
    assert set(content["settings"]) == set(KEYS)
    file = {"kind": "file", "file": f"{tmp_path}/pyproject.toml"}
    assert content["settings"]["select"] == {"value": ["JAX4"], "origins": [{**file, "line": 3}]}
    assert content["settings"]["per-file-ignores"] == {"value": {"a.py": ["JAX4"]}, "origins": [{**file, "line": 4}]}
    assert content["settings"]["preview"] == {
        "value": True,
        "origins": [{"kind": "command line", "option": "--preview"}],
    }
    assert content["environment"] is None
    assert content["settings"]["python"] == {"value": None, "origins": [{"kind": "default"}]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone"], "gone: No such file or directory"),
        (["--config", "gone.toml"], "gone.toml: cannot be read: No such file or directory"),
        (["--select", "JAX9"], "--select: unknown rule `JAX9`; `jaxlint rule` lists all rules"),
    ],
)
def test_config_command_mistakes(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert run(capsys, "config", *arguments) == (2, "", f"jaxlint: error: {message}\n")


def test_schema_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "config", "--schema")
    assert (code, json.loads(out), err) == (0, documentation.schema(), "")


def test_schema_is_that_of_the_configuration() -> None:
    schema = documentation.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(tomllib.loads(FULL)["tool"]["jaxlint"], schema)
    mistakes: tuple[dict[str, Any], ...] = (
        {"slect": []},
        {"select": "JAX2"},
        {"select": ["JAX2", "static-aray"]},
        {"min-confidence": "hihg"},
        {"per-file-ignores": {"a": ["JAX9999"]}},
        {"extra-fields": {"a": {"static": True}}},
    )
    for wrong in mistakes:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
    defaults = {key.name: key.default for key in KEYS.values() if key.default is not None}
    jsonschema.validate(defaults, schema)
    assert {key: one.get("default") for key, one in schema["properties"].items() if "default" in one} == defaults


def test_examples_of_the_keys_are_right(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for key in KEYS.values():
        example = key.example if key.example.startswith("[") else f"[tool.jaxlint]\n{key.example}"
        values = tomllib.loads(example)["tool"]["jaxlint"]
        assert list(values) == [key.name]
        if key.name != "python":
            Configuration([key.example.replace("[tool.jaxlint.", "[")] if "\n" not in key.example else [])
        jsonschema.validate(values, documentation.schema())


def test_documentation_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    page = ROOT / "docs" / "configuration.md"
    assert documentation.run([str(page), "--check"]) == 0
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        content = tomllib.loads(block)
        jsonschema.validate(content.get("tool", {}).get("jaxlint", content), documentation.schema())


def test_documentation_out_of_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "configuration.md"
    page.write_text("a\n<!-- keys:begin -->\nold\n<!-- keys:end -->\nb\n")
    assert documentation.run([str(page), "--check"]) == 1
    assert "configuration.md: is out of date; run python -m jaxlint.report.configuration" in capsys.readouterr().err
    assert documentation.run([str(page)]) == 0
    assert documentation.run([str(page), "--check"]) == 0
    page.write_text("no markers")
    assert documentation.run([str(page)]) == 2


def test_every_key_has_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    """But for `src`, `plugins` and the tables."""
    _, out, _ = run(capsys, "check", "--help")
    options = set(re.findall(r"--[a-z-]+", out))
    tables = {name for name, key in KEYS.items() if key.default == {}}
    assert {f"--{name}" for name in set(KEYS) - tables - {"src", "plugins"}} <= options
