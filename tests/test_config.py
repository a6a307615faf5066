"""Settings are read strictly, and every mistake is one line that names the place and the way out."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import jaxlint.rules
from jaxlint.config import (
    ConfigError,
    ExtraField,
    Settings,
    find_config,
    load,
    override,
    read_config,
    rule_enabled,
)
from jaxlint.errors import UserError
from jaxlint.files import PathError
from jaxlint.rules.base import Rule


class Unreadable(Rule):
    code, name, group, since = "JAX001", "unreadable-file", "tool", "0.1.0"


class StaticArray(Rule):
    code, name, group, since = "JAX201", "static-array-field", "static", "0.1.0"


class StaticCounter(Rule):
    code, name, group, since = "JAX202", "static-counter", "static", "0.1.0"


class StaleState(Rule):
    code, name, group, since = "JAX407", "returned-old-state", "update", "0.1.0"
    enabled = False


RULES = (Unreadable, StaticArray, StaticCounter, StaleState)


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jaxlint.rules, "all_rules", lambda: RULES)


def pyproject(body: str, name: str = "pyproject.toml") -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(body)
    return name


def error(body: str, name: str = "pyproject.toml") -> str:
    with pytest.raises(ConfigError) as caught:
        read_config(pyproject(body, name))
    assert isinstance(caught.value, UserError)
    assert "\n" not in str(caught.value)
    return str(caught.value)


FULL = """\
[tool.jaxlint]
select = ["JAX2", "unreadable-file"]
ignore = ["static-counter"]
exclude = ["gen/", "*_pb2.py"]
src = ["src", "../lib"]
python = ".venv"
target-python = "3.11"

[tool.jaxlint.extra-decorators]
"mylib.state" = "flax.struct.dataclass"

[tool.jaxlint.extra-bases]
"mylib.Node" = "flax.struct.PyTreeNode"

[tool.jaxlint.extra-fields]
"mylib.field" = "flax.struct.field"
"mylib.static" = { like = "flax.struct.field", static = true }
"""


def test_reads_every_key(tmp_path: Path) -> None:
    Path("project/.venv").mkdir(parents=True)
    here = str(tmp_path)
    assert read_config(pyproject(FULL, "project/pyproject.toml")) == Settings(
        select=("JAX2", "unreadable-file"),
        ignore=("static-counter",),
        exclude=("gen/", "*_pb2.py"),
        base=f"{here}/project",
        src=(f"{here}/project/src", f"{here}/lib"),
        python=f"{here}/project/.venv",
        target_python="3.11",
        extra_decorators={"mylib.state": "flax.struct.dataclass"},
        extra_bases={"mylib.Node": "flax.struct.PyTreeNode"},
        extra_fields={
            "mylib.field": ExtraField("flax.struct.field", None),
            "mylib.static": ExtraField("flax.struct.field", True),
        },
    )


def test_own_file_holds_the_keys_at_the_top(tmp_path: Path) -> None:
    path = pyproject('\ufeffselect = ["ALL"]\r\n[extra-bases]\r\nA = "b.C"\r\n', "jaxlint.toml")
    assert read_config(path) == Settings(select=("ALL",), base=str(tmp_path), extra_bases={"A": "b.C"})
    path = pyproject('[tool.jaxlint]\nignore = ["ALL"]\n', "other.toml")
    assert read_config(path) == Settings(ignore=("ALL",), base=str(tmp_path))


@pytest.mark.parametrize("body", ["", "[tool]\n", "[tool.ruff]\nselect = 3\n", "[tool.jaxlint]\n"])
def test_says_nothing(tmp_path: Path, body: str) -> None:
    assert read_config(pyproject(body)) == Settings(base=str(tmp_path))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("[tool.jaxlint]\n\nslect = []\n", "3: unknown key `slect`; did you mean `select`?"),
        ("[tool.jaxlint]\ntarget_python = ''\n", "2: unknown key `target_python`; did you mean `target-python`?"),
        ("[tool.jaxlint]\nfnord = 1\n", "2: unknown key `fnord`"),
        ("[tool.ruff]\nselect = 1\n[tool.jaxlint]\nselect = 'JAX2'\n", "4: `select` must be a list of strings"),
        ("tool.jaxlint.ignore = [1]\n", "1: `ignore` must be a list of strings"),
        ("[tool]\njaxlint = 3\n", "2: `jaxlint` must be a table: `[tool.jaxlint]`"),
        ("[tool.jaxlint]\npython = 3\n", "2: `python` must be a string"),
        ("[tool.jaxlint]\npython = 'gone'\n", "2: `python` names {here}/gone, which does not exist"),
        ("[tool.jaxlint]\ntarget-python = 3.11\n", '2: `target-python` must be a string like "3.11"'),
        ("[tool.jaxlint]\ntarget-python = '4'\n", '2: `target-python` must be like "3.11", not "4"'),
        ("[tool.jaxlint]\nexclude = [\n  'a',\n  '!',\n]\n", "4: `!` is not a pattern as in a .gitignore"),
        (
            "[tool.jaxlint]\nselect = [\n  'JAX2',\n  'JAX207',\n]\n",
            "4: unknown rule `JAX207`; did you mean `JAX407`?",
        ),
        (
            "[tool.jaxlint]\nignore = ['static-cuonter']\n",
            "2: unknown rule `static-cuonter`; did you mean `static-counter`?",
        ),
        ("[tool.jaxlint]\nignore = ['E501']\n", "2: unknown rule `E501`"),
        ("[tool.jaxlint]\nignore = ['']\n", "2: unknown rule ``"),
        (
            "[tool.jaxlint.extra-bases]\n'a.b' = 3\n",
            '1: `extra-bases` must be a table of strings like "mylib.Node" = "flax.struct.PyTreeNode"',
        ),
        (
            "[tool.jaxlint.extra-bases]\n'a.b' = 'c.d'\n'x y' = 'c.d'\n",
            "3: `extra-bases` names `x y`, which is not a dotted name like `flax.struct.dataclass`",
        ),
        (
            "[tool.jaxlint]\nextra-decorators.a = 'c..d'\n",
            "2: `extra-decorators` names `c..d`, which is not a dotted name like `flax.struct.dataclass`",
        ),
        (
            "[tool.jaxlint.extra-fields]\n'a' = { like = 'b', statik = true }\n",
            "2: unknown key `statik` in `extra-fields`; did you mean `static`?",
        ),
        (
            "[tool.jaxlint.extra-fields]\n'a' = { static = true }\n",
            '1: `extra-fields` must be a table like "mylib.static" = { like = "flax.struct.field", static = true }',
        ),
        ("[tool.jaxlint]\nselect ['a']\n", "2:8: broken TOML: Expected '=' after a key in a key/value pair"),
    ],
)
def test_mistakes(tmp_path: Path, body: str, message: str) -> None:
    assert error(body) == "pyproject.toml:" + message.replace("{here}", str(tmp_path))


def test_document_that_ends_too_early() -> None:
    assert re.fullmatch(r"pyproject\.toml(:\d+:\d+)?: broken TOML: Invalid value", error("[tool.jaxlint]\nselect = ["))


def test_mistake_in_own_file() -> None:
    assert error("ignroe = []\n", "jaxlint.toml") == "jaxlint.toml:1: unknown key `ignroe`; did you mean `ignore`?"


def test_unreadable_configurations(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config("gone.toml")
    assert str(caught.value) == "gone.toml: cannot be read: No such file or directory"
    with pytest.raises(ConfigError) as caught:
        read_config(str(tmp_path))
    assert str(caught.value) == f"{tmp_path}: cannot be read: Is a directory"
    Path("bad.toml").write_bytes(b"a = '\xff'\n")
    with pytest.raises(ConfigError) as caught:
        read_config("bad.toml")
    assert str(caught.value) == "bad.toml: is not UTF-8: invalid start byte at byte 5"
    Path("deep.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(ConfigError) as caught:
        read_config("deep.toml")
    assert str(caught.value).startswith("deep.toml")


def test_nearest_configuration_wins() -> None:
    outer = os.path.abspath(pyproject("[tool.jaxlint]\n", "repo/pyproject.toml"))
    Path("repo/pkg/sub").mkdir(parents=True)
    Path("repo/pkg/sub/a.py").touch()
    pyproject("[project]\nname = 'x'\n", "repo/pkg/pyproject.toml")
    assert find_config(["repo/pkg/sub/a.py"]) == outer
    assert find_config(["repo/pkg/sub", "repo"]) == outer
    assert find_config(["repo/pkg/sub/a.py", "other"]) is None
    inner = os.path.abspath(pyproject("", "repo/pkg/jaxlint.toml"))
    assert find_config(["repo/pkg/sub/a.py"]) == inner
    pyproject("[tool.jaxlint]\n", "repo/pkg/pyproject.toml")
    assert find_config(["repo/pkg/sub"]) == inner
    assert find_config(["repo/pkg", "repo"]) == outer


def test_broken_shared_configuration_on_the_way_is_told() -> None:
    pyproject("[tool.jaxlint\n", "repo/pyproject.toml")
    with pytest.raises(ConfigError) as caught:
        load(["repo/a.py"])
    assert str(caught.value).startswith("repo/pyproject.toml:1:14: broken TOML: ")


def test_load(tmp_path: Path) -> None:
    pyproject('[tool.jaxlint]\nsrc = ["lib"]\n', "repo/pyproject.toml")
    here = str(tmp_path)
    assert load(["repo"]) == Settings(base=f"{here}/repo", src=(f"{here}/repo/lib",))
    assert load(["repo"], isolated=True) == Settings(base=here)
    assert load(["elsewhere"]) == Settings(base=here)
    assert load(["elsewhere"], config="repo/pyproject.toml") == Settings(base=here, src=(f"{here}/lib",))


def test_override(tmp_path: Path) -> None:
    configured = Settings(select=("JAX2",), ignore=("JAX202",), exclude=("gen",), base="/repo")
    assert override(configured) == configured
    assert override(configured, select=["JAX202"]) == Settings(("JAX202",), (), ("gen",), "/repo")
    assert override(configured, ignore=["JAX201"]) == Settings(("JAX2",), ("JAX202", "JAX201"), ("gen",), "/repo")
    assert override(configured, select=["ALL"], ignore=["static"]) == Settings(("ALL",), ("static",), ("gen",), "/repo")
    assert override(configured, exclude=["a"]) == Settings(("JAX2",), ("JAX202",), ("a",), str(tmp_path))
    Path("env").mkdir()
    assert override(Settings(), python="env").python == f"{tmp_path}/env"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"select": ["JAX9"]}, "--select: unknown rule `JAX9`"),
        ({"ignore": ["static-array"]}, "--ignore: unknown rule `static-array`; did you mean `static-array-field`?"),
        ({"exclude": ["a", "\\"]}, "--exclude: `\\` is not a pattern as in a .gitignore"),
    ],
)
def test_override_mistakes(options: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        override(Settings(), **options)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_override_missing_python() -> None:
    with pytest.raises(PathError) as caught:
        override(Settings(), python="gone")
    assert str(caught.value) == "--python: gone: No such file or directory"


@pytest.mark.parametrize(
    ("select", "ignore", "enabled"),
    [
        (None, (), "201 202"),
        (None, ("JAX2",), ""),
        (None, ("ALL",), ""),
        (None, ("static-counter",), "201"),
        ((), (), ""),
        (("ALL",), (), "201 202 407"),
        (("all",), ("static",), "407"),
        (("JAX",), ("ALL",), "201 202 407"),
        (("ALL",), ("JAX",), ""),
        (("JAX4",), (), "407"),
        (("jax407",), (), "407"),
        (("returned-old-state",), (), "407"),
        (("static",), ("JAX202",), "201"),
        (("static",), ("JAX2",), ""),
        (("JAX202",), ("JAX2",), "202"),
        (("JAX2",), ("JAX202",), "201"),
        (("JAX20",), ("static",), "201 202"),
        (("JAX202",), ("static-counter",), ""),
        (("JAX202", "JAX2"), ("JAX20",), "202"),
        (("ALL",), ("JAX2", "JAX4"), ""),
    ],
)
def test_rule_enabled(select: tuple[str, ...] | None, ignore: tuple[str, ...], enabled: str) -> None:
    settings = Settings(select=select, ignore=ignore)
    assert [rule.code[3:] for rule in RULES[1:] if rule_enabled(rule, settings)] == enabled.split()


@pytest.mark.parametrize(
    ("select", "ignore", "enabled"),
    [
        (None, (), True),
        (("JAX201",), (), True),
        ((), ("ALL",), True),
        (None, ("JAX0",), True),
        (None, ("JAX001",), False),
        (("ALL",), ("unreadable-file",), False),
    ],
)
def test_unreadable_files_are_told_unless_just_that_is_ignored(
    select: tuple[str, ...] | None, ignore: tuple[str, ...], enabled: bool
) -> None:
    assert rule_enabled(Unreadable, Settings(select=select, ignore=ignore)) is enabled
