"""Settings are read strictly, and every mistake is one line that names the place and the way out."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from jaxlint.config.configuration import Configuration, read_config
from jaxlint.config.layers import ConfigError
from jaxlint.config.settings import PerFileIgnore, Settings, rule_enabled
from jaxlint.config.table import all_keys
from jaxlint.errors import UserError
from jaxlint.finding import Confidence
from jaxlint.project.files import Patterns
from jaxlint.pytrees.target import ExtraField
from jaxlint.pytrees.versions import VersionRange
from tests.config.sample import FULL, RULES, TreeAt, Unreadable, pyproject

KEYS = all_keys()


pytestmark = pytest.mark.usefixtures("sample_rules")


def error(body: str, name: str = "pyproject.toml") -> str:
    with pytest.raises(ConfigError) as caught:
        read_config(pyproject(body, name))
    assert isinstance(caught.value, UserError)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_reads_every_key(tmp_path: Path) -> None:
    Path("project/.venv").mkdir(parents=True)
    here = str(tmp_path)
    base = f"{here}/project"
    assert read_config(pyproject(FULL, "project/pyproject.toml")) == Settings(
        select=("JAX2", "unreadable-file"),
        ignore=("static-counter", "JAX201"),
        extend_select=("JAX407",),
        per_file_ignores=(
            PerFileIgnore(base, "tests/", ("JAX2",)),
            PerFileIgnore(base, "!src/*.py", ("static-counter", "ALL")),
        ),
        exclude=(Patterns(base, ("gen/", "*_pb2.py")), Patterns(base, ("old/",))),
        src=(f"{base}/src", f"{here}/lib"),
        python=f"{base}/.venv",
        target_versions={
            "flax": VersionRange((0, 10), (0, 12)),
            "jax": VersionRange.exactly((0, 4, 35)),
            "python": VersionRange.exactly((3, 11)),
        },
        min_confidence=Confidence.MEDIUM,
        preview=True,
        fix=True,
        unsafe_fixes=True,
        fixable=("JAX4",),
        unfixable=("JAX407",),
        extend_safe_fixes=("JAX2",),
        extend_unsafe_fixes=("JAX201",),
        baseline=f"{base}/known.json",
        extra_decorators={"mylib.state": "flax.struct.dataclass"},
        extra_bases={"mylib.Node": "flax.struct.PyTreeNode"},
        extra_fields={
            "mylib.field": ExtraField("flax.struct.field", None),
            "mylib.static": ExtraField("flax.struct.field", True),
        },
    )
    assert {key for key in KEYS if re.search(rf"\b{key}\b", FULL)} == set(KEYS)


def test_own_file_holds_the_keys_at_the_top() -> None:
    path = pyproject('\ufeffselect = ["ALL"]\r\n[extra-bases]\r\nA = "equinox.Module"\r\n', "jaxlint.toml")
    assert read_config(path) == Settings(select=("ALL",), extra_bases={"A": "equinox.Module"})
    path = pyproject('[tool.jaxlint]\nignore = ["ALL"]\n', "other.toml")
    assert read_config(path) == Settings(ignore=("ALL",))


@pytest.mark.parametrize("body", ["", "[tool]\n", "[tool.ruff]\nselect = 3\n", "[tool.jaxlint]\n"])
def test_says_nothing(body: str) -> None:
    assert read_config(pyproject(body)) == Settings()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("[tool.jaxlint]\n\nslect = []\n", "3: unknown key `slect`; did you mean `select`?"),
        ("[tool.jaxlint]\ntarget_version = ''\n", "2: unknown key `target_version`; did you mean `target-version`?"),
        ("[tool.jaxlint]\nfnord = 1\n", "2: unknown key `fnord`; `jaxlint config` shows all keys"),
        ("[tool.ruff]\nselect = 1\n[tool.jaxlint]\nselect = 'JAX2'\n", "4: `select` must be a list of strings"),
        ("tool.jaxlint.ignore = [1]\n", "1: `ignore` must be a list of strings"),
        ("[tool]\njaxlint = 3\n", "2: `jaxlint` must be a table: `[tool.jaxlint]`"),
        ("[tool.jaxlint]\npython = 3\n", "2: `python` must be a string"),
        ("[tool.jaxlint]\npython = 'gone'\n", "2: `python` names gone, which does not exist"),
        ("[tool.jaxlint]\ntarget-version = 3.11\n", '2: `target-version` must be a string like "3.11"'),
        ("[tool.jaxlint]\ntarget-version = '4'\n", '2: `target-version` must be like "3.11", not "4"'),
        ("[tool.jaxlint]\ntarget-version = '3.1'\n", '2: `target-version` must be like "3.11", not "3.1"'),
        ("[tool.jaxlint]\ntarget-jax = '0'\n", '2: `target-jax` must be like "0.4.35", not "0"'),
        ("[tool.jaxlint]\nmin-confidence = 'hihg'\n", '2: `min-confidence` must be "low", "medium" or "high"'),
        ("[tool.jaxlint]\npreview = 1\n", "2: `preview` must be true or false"),
        ("[tool.jaxlint]\nbaseline = []\n", "2: `baseline` must be a string"),
        (
            "[tool.jaxlint]\nper-file-ignores = ['a']\n",
            '2: `per-file-ignores` must be a table of lists of strings like "tests/" = ["JAX3"]',
        ),
        ("[tool.jaxlint.per-file-ignores]\n'a' = ['ALL']\n'!' = []\n", "3: `!` is not a pattern as in a .gitignore"),
        (
            "[tool.jaxlint.per-file-ignores]\n'!a' = ['JAX2']\n'b' = [\n'JAX402']\n",
            "4: unknown rule `JAX402`; `jaxlint rule` lists all rules",
        ),
        ("[tool.jaxlint]\nexclude = [\n  'a',\n  '!',\n]\n", "4: `!` is not a pattern as in a .gitignore"),
        (
            "[tool.jaxlint]\nselect = [\n  'JAX2',\n  'JAX207',\n]\n",
            "4: unknown rule `JAX207`; `jaxlint rule` lists all rules",
        ),
        (
            "[tool.jaxlint]\nignore = ['static-cuonter']\n",
            "2: unknown rule `static-cuonter`; did you mean `static-counter`?",
        ),
        ("[tool.jaxlint]\nignore = ['E501']\n", "2: unknown rule `E501`; `jaxlint rule` lists all rules"),
        ("[tool.jaxlint]\nignore = ['JAX2 JAX4']\n", "2: unknown rule `JAX2 JAX4`; separate rules by commas"),
        ("[tool.jaxlint]\nignore = ['']\n", "2: unknown rule ``; `jaxlint rule` lists all rules"),
        (
            "[tool.jaxlint.extra-bases]\n'a.b' = 3\n",
            '1: `extra-bases` must be a table of strings like "mylib.Node" = "flax.struct.PyTreeNode"',
        ),
        (
            "[tool.jaxlint.extra-bases]\n'a.b' = 'equinox.Module'\n'c.d' = 'equinox.Modul'\n",
            "3: `c.d` stands for `equinox.Modul`, which jaxlint does not know; did you mean `equinox.Module`?",
        ),
        (
            "[tool.jaxlint]\nextra-fields.a.like = 'flax.struct.dataclass'\n",
            "2: `a` stands for `flax.struct.dataclass`, which jaxlint does not know; one that it knows is"
            " `flax.struct.field`",
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
def test_mistakes(body: str, message: str) -> None:
    assert error(body) == "pyproject.toml:" + message


def test_document_that_ends_too_early() -> None:
    assert error("[tool.jaxlint]\nselect = [") == "pyproject.toml:2:11: broken TOML: Invalid value"
    assert error('[tool.jaxlint]\nselect = [\n  "JAX2"\n\n') == "pyproject.toml:3:9: broken TOML: Unclosed array"


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


def excluded(path: str, **options: Any) -> list[str]:
    """What the configuration excludes for a path, to tell configurations apart."""
    settings = Configuration(**options).settings(path)
    return [f"{os.path.relpath(base)}:{line}" for base, lines in settings.exclude for line in lines]


def test_nearest_configuration_wins() -> None:
    pyproject("[tool.jaxlint]\nexclude = ['1']\n", "repo/pyproject.toml")
    Path("repo/pkg/sub").mkdir(parents=True)
    Path("repo/pkg/sub/a.py").touch()
    pyproject("[project]\nname = 'x'\n", "repo/pkg/pyproject.toml")
    assert excluded("repo/pkg/sub/a.py") == excluded("repo/pkg/sub") == excluded("repo") == ["repo:1"]
    assert excluded("repo/pkg/not-there.py") == ["repo:1"]
    assert excluded(".") == excluded("other") == []
    pyproject("exclude = ['2']", "repo/pkg/jaxlint.toml")
    pyproject("[tool.jaxlint]\n", "repo/pkg/pyproject.toml")
    assert excluded("repo/pkg/sub/a.py") == ["repo/pkg:2"]
    assert excluded("repo/x") == ["repo:1"]


def test_explicit_and_no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyproject("[tool.jaxlint]\nexclude = ['1']\n", "repo/pyproject.toml")
    assert excluded("repo", isolated=True) == []
    assert excluded("elsewhere", config=["repo/pyproject.toml"]) == [".:1"]
    assert excluded("repo", config=["exclude = ['2']"]) == [".:2"]
    assert excluded("repo", config=["extend-exclude = ['2']"]) == ["repo:1", ".:2"]
    assert excluded("repo", config=["extend-exclude = ['2']"], isolated=True) == [".:2"]
    monkeypatch.chdir("repo")
    assert excluded(str(tmp_path)) == []
    with pytest.raises(ConfigError) as caught:
        Configuration(["a.toml", "b.toml"])
    assert str(caught.value) == "--config: a.toml and b.toml are two files; give one"


def test_broken_shared_configurations_on_the_way() -> None:
    """A broken project file is reported if it may concern jaxlint."""
    pyproject("[tool.jaxlint\n", "repo/pyproject.toml")
    with pytest.raises(ConfigError) as caught:
        Configuration().settings("repo/a.py")
    assert str(caught.value).startswith("repo/pyproject.toml:1:14: broken TOML: ")
    pyproject("[tool.ruff\n", "repo/pyproject.toml")
    assert Configuration().settings("repo/a.py") == Settings()


def test_files_in_groups(tmp_path: Path) -> None:
    pyproject("[tool.jaxlint]\nselect = ['JAX201']\n", "repo/pyproject.toml")
    pyproject("select = ['JAX202']\n", "repo/pkg/jaxlint.toml")
    paths = [f"{tmp_path}/{name}" for name in ("a.py", "repo/b.py", "repo/pkg/c.py", "repo/pkg/sub/d.py", "repo/e.py")]
    groups = Configuration().groups(paths)
    assert [[os.path.relpath(path) for path in group] for _, group in groups] == [
        ["a.py"],
        ["repo/b.py", "repo/e.py"],
        ["repo/pkg/c.py", "repo/pkg/sub/d.py"],
    ]
    assert [settings.select for settings, _ in groups] == [None, ("JAX201",), ("JAX202",)]
    assert [group for _, group in Configuration(isolated=True).groups(paths)] == [paths]


def configured(body: str, options: Mapping[str, object], config: Sequence[str] = ()) -> Settings:
    pyproject("[tool.jaxlint]\n" + body)
    return Configuration(config, options=options).settings(".")


RULES_IN_FILE = "select = ['JAX2']\nextend-select = ['JAX4']\nignore = ['JAX202']\nextend-ignore = ['JAX407']\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (("JAX2",), ("JAX202", "JAX407"), ("JAX4",))),
        ({"select": ["JAX202"]}, (("JAX202",), (), ())),
        ({"ignore": ["JAX201"]}, (("JAX2",), ("JAX202", "JAX201", "JAX407"), ("JAX4",))),
        ({"extend-ignore": ["JAX201"]}, (("JAX2",), ("JAX202", "JAX407", "JAX201"), ("JAX4",))),
        ({"extend-select": ["ALL"]}, (("JAX2",), ("JAX202", "JAX407"), ("JAX4", "ALL"))),
        ({"select": ["ALL"], "ignore": ["static"]}, (("ALL",), ("static",), ())),
    ],
)
def test_options_that_choose_rules(options: dict[str, object], expected: tuple[object, ...]) -> None:
    settings = configured(RULES_IN_FILE, options)
    assert (settings.select, settings.ignore, settings.extend_select) == expected


def test_other_options(tmp_path: Path) -> None:
    here = str(tmp_path)
    body = "exclude = ['a']\ntarget-jax = '0.4'\nmin-confidence = 'high'\npreview = true\nbaseline = 'b.json'\n"
    assert configured(body, {"exclude": ["b"]}).exclude == (Patterns(here, ("b",)),)
    both = (Patterns(here, ("a",)), Patterns(here, ("b",)))
    assert configured(body, {"extend-exclude": ["b"]}).exclude == both
    Path("env").mkdir()
    assert configured(body, {"python": "env"}).python == f"{here}/env"
    assert configured(body, {"target-jax": "0.5.0"}).target_versions["jax"] == VersionRange.exactly((0, 5))
    assert configured(body, {"target-version": "py310"}).target_versions["python"] == VersionRange.exactly((3, 10))
    assert configured(body, {"min-confidence": "low"}).min_confidence is Confidence.LOW
    assert configured(body, {"preview": False}).preview is False
    assert configured(body, {"baseline": "c.json"}).baseline == f"{here}/c.json"
    configuration = Configuration()
    assert configuration.settings(".").baseline == f"{here}/b.json"
    configuration = Configuration()
    configuration.use_no_baseline()
    assert configuration.settings(".").baseline is None
    assert configured(body, {}, ['extra-bases."a.b" = "equinox.Module"', "preview = false"]).extra_bases == {
        "a.b": "equinox.Module"
    }


@pytest.mark.parametrize(
    ("options", "config", "message"),
    [
        ({"select": ["JAX9"]}, [], "--select: unknown rule `JAX9`; `jaxlint rule` lists all rules"),
        ({"ignore": ["static-array"]}, [], "--ignore: unknown rule `static-array`; did you mean `static-array-field`?"),
        ({"exclude": ["a", "\\"]}, [], "--exclude: `\\` is not a pattern as in a .gitignore"),
        ({"python": "gone"}, [], "--python: names gone, which does not exist"),
        ({"target-version": "2.7"}, [], '--target-version: must be like "3.11", not "2.7"'),
        ({"target-jax": "new"}, [], '--target-jax: must be like "0.4.35", not "new"'),
        ({}, ["slect = []"], "--config: unknown key `slect`; did you mean `select`?"),
        (
            {},
            ["select = "],
            """--config: broken TOML: Invalid value; write texts in quotes: `--config 'select = ["JAX4"]'`""",
        ),
        ({}, ["preview = 3"], "--config: `preview` must be true or false"),
    ],
)
def test_mistakes_in_options(options: dict[str, object], config: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Configuration(config, options=options)
    assert re.sub(r"--config:1:\d+: ", "--config: ", str(caught.value)) == message


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


def test_extended_selection() -> None:
    assert enabled_in(Settings(extend_select=("JAX4",))) == ["201", "202", "407"]
    assert enabled_in(Settings(select=("JAX202",), extend_select=("JAX4",))) == ["202", "407"]
    assert enabled_in(Settings(ignore=("JAX4",), extend_select=("JAX407",))) == ["201", "202", "407"]


def enabled_in(settings: Settings, path: str | None = None) -> list[str]:
    return [rule.code[3:] for rule in (*RULES[1:], TreeAt) if rule_enabled(rule, settings, path)]


def test_rules_in_preview() -> None:
    assert enabled_in(Settings(select=("ALL",))) == ["201", "202", "407"]
    assert enabled_in(Settings(select=("ALL",), preview=True)) == ["201", "202", "407", "411"]
    assert enabled_in(Settings(select=("update",))) == ["407"]
    assert enabled_in(Settings(select=("JAX411",))) == ["411"]
    assert enabled_in(Settings(extend_select=("tree-at",))) == ["201", "202", "411"]
    assert enabled_in(Settings(preview=True)) == ["201", "202"]


@pytest.mark.parametrize(
    ("pattern", "path", "is_meant"),
    [
        ("tests", "/p/tests/a.py", True),
        ("tests/", "/p/deep/tests/b/a.py", True),
        ("/tests/", "/p/deep/tests/a.py", False),
        ("test_*.py", "/p/x/test_a.py", True),
        ("test_*.py", "/p/x/a.py", False),
        ("src/**/gen.py", "/p/src/a/b/gen.py", True),
        ("tests", "/elsewhere/tests/a.py", False),
        ("!src", "/p/a.py", True),
        ("!src", "/p/src/a.py", False),
        ("!src", "/elsewhere/a.py", False),
    ],
)
def test_per_file_ignores(pattern: str, path: str, is_meant: bool) -> None:
    settings = Settings(per_file_ignores=(PerFileIgnore("/p", pattern, ("JAX202",)),))
    assert enabled_in(settings, path) == (["201"] if is_meant else ["201", "202"])
    assert enabled_in(settings) == ["201", "202"]


def test_per_file_ignores_win() -> None:
    """What is left out in a file is left out however it was selected; only JAX001 needs its own name."""
    settings = Settings(
        select=("JAX202", "JAX407"), per_file_ignores=(PerFileIgnore("/p", "*.py", ("JAX2", "JAX0", "update")),)
    )
    assert enabled_in(settings, "/p/a.py") == []
    assert rule_enabled(Unreadable, settings, "/p/a.py")
    settings = Settings(per_file_ignores=(PerFileIgnore("/p", "*.py", ("unreadable-file",)),))
    assert not rule_enabled(Unreadable, settings, "/p/a.py")
    assert rule_enabled(Unreadable, settings, "/p/a.pyi")


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
def test_unreadable_files_are_reported_unless_just_that_is_ignored(
    select: tuple[str, ...] | None, ignore: tuple[str, ...], enabled: bool
) -> None:
    assert rule_enabled(Unreadable, Settings(select=select, ignore=ignore)) is enabled
