"""A failure of jaxlint's own in one module costs that module at most: all others are checked, and it is said."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from flake8.api.legacy import get_style_guide

from jaxlint import __version__, check_paths
from jaxlint.cache.store import Cache
from jaxlint.cli.main import main
from jaxlint.editor.workspace import Workspace
from jaxlint.linter import parallel

BUG = "from flax import struct\n\n@struct.dataclass\nclass State:\n    x: int\n\ndef step(s: State):\n    s.x = 1\n"
#: Where an exception is raised while `broken.py` is looked at: the module, the name in it, and what finds the path.
STAGES = {
    "outline": ("jaxlint.symbols.parsing", "parse"),
    "imports": ("jaxlint.project.modules", "Project.find"),
    "indexing": ("jaxlint.infer.reading.indexing", "Indexer.index_module"),
    "building": ("jaxlint.pytrees.class_builder", "ClassBuilder.build"),
    "class rule": ("jaxlint.rules.unannotated_field", "UnannotatedField.check_class"),
    "units": ("jaxlint.infer.choosing.triggers", "Triggers.worth_reading"),
    "reading": ("jaxlint.infer.reading.flow", "UnitReader.read"),
    "event rule": ("jaxlint.rules.frozen_assignment", "FrozenAssignment.check_event"),
    "place": ("jaxlint.syntax.source", "Source.codepoint_column"),
    "comments": ("jaxlint.linter.checker", "Comments"),
}


def _concerns_broken(value: object, depth: int = 3) -> bool:
    """Whether an argument has to do with `broken.py`."""
    if isinstance(value, str):
        return "broken.py" in value or "# broken" in value
    parts = (getattr(value, name, None) for name in ("path", "module", "symbol", "place", "text"))
    return depth > 0 and any(part is not None and _concerns_broken(part, depth - 1) for part in parts)


def _break(monkeypatch: pytest.MonkeyPatch, stage: str, error: type[Exception]) -> None:
    """Let a stage fail for `broken.py`, and for nothing else."""
    place: object = importlib.import_module(STAGES[stage][0])
    *owners, last = STAGES[stage][1].split(".")
    for owner in owners:
        place = getattr(place, owner)
    original: Callable[..., object] = getattr(place, last)

    def failing(*args: object, **keywords: object) -> object:
        if any(map(_concerns_broken, args)):
            raise error("injected\nfailure")
        return original(*args, **keywords)

    monkeypatch.setattr(place, last, failing)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "setup.cfg").touch()
    for name in ("a", "broken", "z"):
        (tmp_path / f"{name}.py").write_text(f"# {name}\n{BUG}")
    return tmp_path


def _assert_only_broken_failed(found: list[tuple[str, str]], errors: list[str]) -> None:
    assert {("a.py", "JAX401"), ("z.py", "JAX401")} <= set(found)
    assert errors
    for error in errors:
        assert "broken.py: " in error
        assert f" failed in jaxlint {__version__}: " in error
        assert error.endswith("Error: injected failure")
        assert "\n" not in error


@pytest.mark.parametrize("error", [ValueError, RecursionError])
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("stage", STAGES)
def test_all_others_are_checked(
    stage: str, jobs: int, error: type[Exception], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if stage == "reading" and error is RecursionError:
        pytest.skip("statements that nest too deeply are a finding")
    monkeypatch.setattr(parallel, "PAYS_FROM", {"fork": 0, "spawn": 0})
    _break(monkeypatch, stage, error)
    cache = Cache(str(project / "cache"))
    result = check_paths([str(project)], jobs=jobs, cache=cache)
    _assert_only_broken_failed([(Path(f.path).name, f.code) for f in result.findings], result.errors)
    again = check_paths([str(project)], jobs=jobs, cache=cache)  # nothing of it is stored
    if jobs == 1:  # which of two processes comes to `broken` in how many ways depends on which is faster
        assert again.errors == result.errors
    _assert_only_broken_failed([(Path(f.path).name, f.code) for f in again.findings], again.errors)
    assert again.findings == result.findings


def test_command(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _break(monkeypatch, "building", ValueError)
    assert main(["check", "--no-cache", "--output-format", "json", str(project)]) == 2
    out, err = capsys.readouterr()
    assert [Path(found["filename"]).name for found in json.loads(out)] == ["a.py", "z.py"]
    assert all(line.startswith("jaxlint: internal error: ") for line in err.splitlines())
    assert "the model of `State` failed" in err


@pytest.mark.parametrize("stage", STAGES)
def test_editor(stage: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch, stage, KeyError)
    workspace = Workspace()
    workspace.set_folders([str(project)])
    found: list[tuple[str, str]] = []
    for name in ("a", "broken", "z"):
        path = str(project / f"{name}.py")
        workspace.set_text(path, f"# {name}\n{BUG}\n")
        found += [(f"{name}.py", finding.code) for finding in workspace.findings(path)]
        workspace.set_text(path, f"# {name}\n{BUG}\n\n")
        found += [(f"{name}.py", finding.code) for finding in workspace.findings(path)]
    assert found.count(("a.py", "JAX401")) == found.count(("z.py", "JAX401")) == 2
    errors = workspace.take_errors()
    assert errors
    assert all("broken.py: " in error and "\n" not in error for error in errors)


CYCLES = {
    "module": "from jax.experimental import shard_map\nshard_map = shard_map.shard_map\nshard_map(1)\n",
    "imported": "import tqdm; tqdm = tqdm.tqdm\nfor i in tqdm(range(3)): pass\n",
    "two names": "A = B.x\nB = A.y\nA(1)\nB(2)\n@A\nclass C(B):\n    x: A\n",
    "itself": "A = A\nB = B.c.d\nA(B)\n@B\nclass C(A): pass\n",
    "bases": "class A(B): pass\nclass B(A): pass\nclass C(C): pass\nA().x = B().y = C().z = 1\n",
    "decorators": "def f(cls): return g(cls)\ndef g(cls): return f(cls)\nh = lambda cls: h(cls)\n"
    "@f\n@h\nclass A:\n    x: int = f(1)\nA(1).x = 3\n",
    "partials": "from functools import partial\nP = partial(Q, 1)\nQ = partial(P, 1)\nR = partial(R)\n@P\n@R\n"
    "class A:\n    x: int = Q(1)\nA(1).x = 3\n",
    "transformations": "import jax\nf = jax.jit(f)\ng = jax.jit(h)\nh = jax.vmap(g)\nf(1)\ng(2)\nh(3)\n",
    "metadata": "from flax import struct\nM = dict(M)\nN = {**O}\nO = {**N}\n@struct.dataclass\nclass A:\n"
    "    x: int = struct.field(metadata=M)\n    y: int = struct.field(metadata=N)\nA(1, 2).x = 3\n",
    "returns": "def f(): return g()\ndef g(): return f()\nf().x = 1\nclass A:\n    @property\n"
    "    def p(self): return self.q\n    @property\n    def q(self): return self.p\nA().p.x = 1\n",
    "own import": "from a import x\nx = x.y\nx(1)\nfrom a import *\n",
    "annotations": "from typing import Union\nA = Union[B, int]\nB = Union[A, str]\ndef f(x: A): x.y = 1\n",
}


@pytest.mark.parametrize("name", CYCLES)
def test_what_leads_back_to_itself_is_unknown(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import jax\n" + CYCLES[name])
    (tmp_path / "z.py").write_text(BUG + "from a import *\nimport a\na.A\na.f\n")
    result = check_paths([str(tmp_path)])
    assert result.errors == []
    assert [(Path(f.path).name, f.code) for f in result.findings if f.code != "JAX401" or "z.py" in f.path] == [
        ("z.py", "JAX401")
    ]


def test_an_alias_of_its_own_name_stands_for_what_was_imported(tmp_path: Path) -> None:
    text = "from flax import struct\nstruct = struct.dataclass\n\n@struct\nclass S:\n    x: int\n"
    text += "\ndef f(s: S):\n    s.x = 1\n"
    (tmp_path / "a.py").write_text(text)
    assert [(f.code, f.row) for f in check_paths([str(tmp_path)]).findings] == [("JAX401", 9)]


def test_flake8(project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    _break(monkeypatch, "building", ValueError)
    legacy = get_style_guide(select=["JAX"], isolated=True, jaxlint_cache_dir="")
    legacy.check_files([str(project)])
    out, err = capfd.readouterr()
    assert [line for name in ("a", "z") for line in out.splitlines() if f"{name}.py" in line and "JAX401" in line]
    assert "broken.py: the model of `State` failed" in err
    assert "Traceback" not in err
