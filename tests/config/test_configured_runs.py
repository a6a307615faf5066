"""Settings in real runs: which files they hold for, and what they change."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from jaxlint import check_paths, check_source
from jaxlint.cache.store import Cache
from jaxlint.cli import main as cli
from jaxlint.config.configuration import Configuration
from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence, Finding, Severity
from jaxlint.pytrees.versions import VersionRange

PROGRAM = """\
import jax
from flax import struct

@struct.dataclass
class State:
    x: jax.Array
    step: int = struct.field(pytree_node=False, default=0)

def f(s: State) -> State:
    s.x = 1
    return s.replace(step=s.step + 1)
"""
BOTH = ["JAX202", "JAX401"]


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def make(files: dict[str, str]) -> None:
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def codes(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, list[str]]:
    """The codes that `jaxlint check` reports, by file."""
    code = cli.main(["check", "--output-format", "json", *arguments])
    captured = capsys.readouterr()
    assert captured.err == "", captured.err
    found: dict[str, list[str]] = {}
    for one in json.loads(captured.out):
        found.setdefault(os.path.relpath(one["filename"]), []).append(one["code"])
    assert code == (1 if found else 0)
    return {path: sorted(found[path]) for path in sorted(found)}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_each_file_has_the_settings_of_the_nearest_configuration(capsys: pytest.CaptureFixture[str], jobs: str) -> None:
    make(
        {
            "pyproject.toml": "[tool.jaxlint]\nignore = ['JAX401']\nexclude = ['gen']\n",
            "a.py": PROGRAM,
            "gen/a.py": PROGRAM,
            "sub/jaxlint.toml": "ignore = ['JAX202']\n",
            "sub/b.py": PROGRAM,
            "sub/gen/b.py": PROGRAM,
            "sub/deep/c.py": PROGRAM,
            "other/pyproject.toml": "[project]\nname = 'other'\n",
            "other/d.py": PROGRAM,
        }
    )
    expected = {
        "a.py": ["JAX202"],
        "other/d.py": ["JAX202"],
        "sub/b.py": ["JAX401"],
        "sub/deep/c.py": ["JAX401"],
        "sub/gen/b.py": ["JAX401"],
    }
    assert codes(capsys, "-j", jobs) == expected
    alone: dict[str, list[str]] = {}
    for path in expected:
        alone |= codes(capsys, path)
    assert alone == expected
    assert codes(capsys, "sub", "a.py") == {path: expected[path] for path in expected if path != "other/d.py"}
    assert codes(capsys, "--select", "JAX4,JAX2", "a.py", "sub/b.py") == {"a.py": BOTH, "sub/b.py": BOTH}
    assert codes(capsys, "--isolated", "gen", "a.py") == {"a.py": BOTH, "gen/a.py": BOTH}
    assert codes(capsys, "--config", "sub/jaxlint.toml", "a.py") == {"a.py": ["JAX401"]}
    assert codes(capsys, "--config", "extend-exclude = ['b.py', '/other']") == {
        path: expected[path] for path in ("a.py", "sub/deep/c.py")
    }


def test_modules_see_each_other_whatever_their_settings(capsys: pytest.CaptureFixture[str]) -> None:
    """What a subclass has counts, even in a directory with a configuration of its own."""
    make(
        {
            "pkg/__init__.py": "",
            "pkg/base.py": (
                "import equinox as eqx\nimport jax\n\nclass Base(eqx.Module):\n    x: jax.Array\n\n"
                "    def zero(self):\n        return self.replace(x=0)\n"
            ),
            "pkg/sub/jaxlint.toml": "select = ['JAX2']\n",
            "pkg/sub/__init__.py": "",
            "pkg/sub/a.py": (
                "from pkg.base import Base\n\nclass A(Base):\n    def replace(self, x):\n        return A(x)\n"
            ),
        }
    )
    assert codes(capsys) == codes(capsys, "--isolated") == {}
    Path("pkg/sub/a.py").unlink()
    assert codes(capsys) == {"pkg/base.py": ["JAX404"]}


def test_per_file_ignores(capsys: pytest.CaptureFixture[str]) -> None:
    make(
        {
            "pyproject.toml": "[tool.jaxlint.per-file-ignores]\n'tests/' = ['JAX4']\n'!src/' = ['static-counter']\n",
            "tests/a.py": PROGRAM,
            "src/b.py": PROGRAM,
            "c.py": PROGRAM,
        }
    )
    assert codes(capsys) == {"c.py": ["JAX401"], "src/b.py": BOTH}
    assert codes(capsys, "--select", "JAX2,JAX4") == {"c.py": ["JAX401"], "src/b.py": BOTH}
    os.chdir("tests")
    assert codes(capsys, ".", "../src") == {"../src/b.py": BOTH}


def test_a_broken_nested_configuration_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    make({"a.py": "", "sub/a.py": "", "sub/pyproject.toml": "[tool.jaxlint]\n\nslect = []\n"})
    assert cli.main(["check"]) == 2
    message = "jaxlint: error: sub/pyproject.toml:3: unknown key `slect`; did you mean `select`?\n"
    assert capsys.readouterr() == ("", message)
    make({"sub/pyproject.toml": "[project\n"})
    assert cli.main(["check", "-q"]) == 0


def test_min_confidence(capsys: pytest.CaptureFixture[str]) -> None:
    """What only an annotation says is no more than likely; an instance that is seen to be made is one for certain."""
    sure = PROGRAM.replace("f(s: State) -> State:", "f() -> State:\n    s = State(jax.numpy.ones(3))")
    seen = sure.replace("f()", "made()").replace("s = State", "return State", 1)
    seen = seen.replace("    s.x = 1", "\ndef f() -> State:\n    s = made()\n    s.x = 1")
    make({"a.py": "x = 1  # noqa: JAX401\n", "b.py": PROGRAM, "c.py": sure, "d.py": seen})
    once = ["JAX401"]  # a counter that is moved once in an instance that is made here begins anew each time
    every = {"a.py": ["JAX002"], "b.py": BOTH, "c.py": once, "d.py": BOTH}
    assert codes(capsys) == codes(capsys, "--min-confidence", "medium") == every
    assert codes(capsys, "--min-confidence", "high") == {"c.py": once, "d.py": BOTH}
    assert codes(capsys, "--config", "min-confidence = 'high'") == {"c.py": once, "d.py": BOTH}


def test_settings_in_the_api() -> None:
    make({"jaxlint.toml": "ignore = ['JAX4']\n", "a.py": PROGRAM})
    assert [f.code for f in check_paths(["a.py"]).findings] == ["JAX401", "JAX202"]
    assert [f.code for f in check_paths(["a.py"], Configuration()).findings] == ["JAX202"]
    assert [f.code for f in check_paths(["a.py"], Settings(ignore=("JAX2",))).findings] == ["JAX401"]


def test_one_baseline_for_files_with_different_settings(capsys: pytest.CaptureFixture[str]) -> None:
    make({"a.py": PROGRAM, "gone.py": PROGRAM, "sub/jaxlint.toml": "ignore = ['JAX2']\n", "sub/b.py": PROGRAM})
    assert cli.main(["check", "-q", "--write-baseline", "known.json"]) == 0
    Path("gone.py").unlink()
    assert cli.main(["check", "--baseline", "known.json"]) == 0
    out, err = capsys.readouterr()
    assert out == "All checks passed!\n"
    assert (err.count("\n"), err.count("gone.py")) == (1, 2)
    Path("sub/b.py").write_text("")
    assert cli.main(["check", "--baseline", "known.json"]) == 0
    assert ": 3 entries have no finding any more (gone.py: " in capsys.readouterr().err


def test_settings_hold_for_what_the_cache_knows() -> None:
    """What comments hide, and what is said of comments, is the same with and without a cache."""
    make({"a.py": PROGRAM.replace("s.x = 1", "s.x = 1  # noqa: JAX401, JAX402"), "b.py": "x = 1  # noqa: JAX999\n"})
    cache = Cache(os.path.abspath("cache"))
    for settings in (Settings(), Settings(min_confidence=Confidence.HIGH), Settings(ignore=("JAX402",))):
        alone = check_paths(["."], settings)
        for _ in range(2):
            cached = check_paths(["."], settings, cache=cache)
            assert cached == alone
    assert [f.code for f in alone.suppressed] == ["JAX401"]


DEFAULT = """\
import {module}
from flax import struct
import jax

@struct.dataclass
class State:
    x: jax.Array = {value}
"""


def exactly(name: str, version: tuple[int, ...] | None) -> dict[str, VersionRange]:
    return {} if version is None else {name: VersionRange.exactly(version)}


def of_default(value: str, target: tuple[int, ...] | None, module: str = "jax.numpy as jnp") -> list[Finding]:
    text = DEFAULT.format(module=module, value=value)
    return check_source(text, settings=Settings(select=("JAX301",), target_versions=exactly("python", target)))


@pytest.mark.parametrize(("module", "value"), [("jax.numpy as jnp", "jnp.zeros(3)"), ("numpy as np", "np.zeros(3)")])
def test_arrays_as_defaults_by_target_version(module: str, value: str) -> None:
    """Python 3.10 takes them and shares them, which harms where they are changed; later ones do not take them."""
    (unknown,) = of_default(value, None, module)
    assert "cannot be created from Python 3.11 on (ValueError)" in unknown.message
    assert "Python 3.10 accepts it" in unknown.reason
    for target in ((3, 11), (3, 13)):
        (refused,) = of_default(value, target, module)
        assert "the class cannot be created (ValueError)" in refused.message
        assert "3.1" not in refused.message + refused.reason
        assert refused.severity is Severity.ERROR
    assert of_default(value, (3, 10), module) == []
    changed = f"{value}\n\ndef clear(state):\n    state.x[:] = 0.0\n"
    shared = of_default(changed, (3, 10), module)
    assert len(shared) == (value == "np.zeros(3)")  # nothing changes an array of jax
    assert all("all instances share" in one.message and one.severity is Severity.WARNING for one in shared)


def test_lists_as_defaults_are_refused_by_every_version() -> None:
    messages = {finding.message for target in (None, (3, 10), (3, 13)) for finding in of_default("[]", target)}
    assert len(messages) == 1
    assert "the class cannot be created (ValueError)" in messages.pop()


BARE = """\
from functools import partial
from dataclasses import dataclass
import jax
from jax.tree_util import register_dataclass

LISTS = {"data_fields": ["x"], "meta_fields": []}

@register_dataclass
@dataclass
class Bare:
    x: jax.Array

@dataclass
class Called:
    x: jax.Array

register_dataclass(Called)

@partial(register_dataclass, data_fields=["x"], meta_fields=[])
@dataclass
class Listed:
    x: jax.Array

@partial(register_dataclass, **LISTS)
@dataclass
class Unknown:
    x: jax.Array

@dataclass
class Positional:
    x: jax.Array

register_dataclass(Positional, ["x"], [])

@dataclass
class Spread:
    x: jax.Array

register_dataclass(Spread, *LISTS.values())
"""


@pytest.mark.parametrize(
    ("target", "rows"), [(None, []), ((0, 4, 36), []), ((0, 5, 0), []), ((0, 4, 35), [8, 17]), ((0, 4), [8, 17])]
)
def test_registration_without_lists_by_target_jax(target: tuple[int, ...] | None, rows: list[int]) -> None:
    found = check_source(BARE, settings=Settings(select=("JAX105",), target_versions=exactly("jax", target)))
    assert [f.row for f in found] == rows
    for one in found:
        assert "before jax 0.4.36: it raises TypeError" in one.message


TRACED_STATIC = """\
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.jit, static_argnums=1)
def scaled(x, by):
    return x * by

jax.vmap(scaled)(jnp.ones(3), jnp.ones(3))
scaled(jnp.ones(3), jnp.ones(3))
"""


@pytest.mark.parametrize(("target", "rows"), [(None, [9, 10]), ((0, 4, 36), [9, 10]), ((0, 4, 35), [10])])
def test_traced_static_arguments_by_target_jax(target: tuple[int, ...] | None, rows: list[int]) -> None:
    """Before jax 0.4.36 a tracer has a hash; an array never has one."""
    settings = Settings(select=("JAX515",), target_versions=exactly("jax", target))
    assert [f.row for f in check_source(TRACED_STATIC, settings=settings)] == rows


def test_extra_names_that_stand_for_nothing_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["mylib.deco.pytree", "mylib.deco.pytre", "mylib.decos.pytree", "other.pytree", "mylb.pytree", "pytree"]
    table = "".join(f'"{name}" = "flax.struct.dataclass"\n' for name in names)
    make(
        {
            "pyproject.toml": f"[tool.jaxlint.extra-decorators]\n{table}",
            "mylib/__init__.py": "",
            "mylib/deco.py": "def pytree(cls):\n    return cls\n",
            "a.py": "from other import pytree\n",
        }
    )
    warning = "jaxlint: warning: extra-decorators: `{}` stands for nothing: {}\n"
    reported = [
        ("mylib.deco.pytre", "`mylib.deco` has no `pytre`"),
        ("mylib.decos.pytree", "`mylib` has no `decos`"),
        ("mylb.pytree", "no module `mylb` is found, and no file that was checked names one"),
    ]
    for _ in range(2):  # the second time nothing is checked anew
        assert cli.main(["check", "."]) == 0
        assert capsys.readouterr().err == "".join(warning.format(*one) for one in reported)
    for arguments in (["a.py"], ["-q", "."], ["--shard", "1/2", "."]):
        assert cli.main(["check", *arguments]) == 0
        assert "stands for nothing" not in capsys.readouterr().err
