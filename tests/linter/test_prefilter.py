"""Files in which nothing can be found are determined by their bytes, and looking at them changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import jaxlint.linter.prefilter
from jaxlint.config.settings import Settings
from jaxlint.finding import Finding
from jaxlint.linter.checker import Checker
from jaxlint.linter.engine import check_paths, make_project
from jaxlint.linter.prefilter import FRAMEWORK_PACKAGES, _Names, irrelevant_files
from jaxlint.project.modules import Module
from jaxlint.pytrees.frameworks import FRAMEWORKS

FILES: dict[str, str | bytes] = {
    "pkg/__init__.py": "",
    "pkg/state.py": "from flax import struct\n\n\n@struct.dataclass\nclass State:\n    x: int = 0\n",
    # name no framework, and import a module that does: by a relative import, over lines, through another module
    "pkg/step.py": "from .state import State\n\n\ndef step(state: State):\n    state.x = 1\n",
    "pkg/lines.py": "from pkg import (\n    plain,\n    state,\n)\n\n\ndef f(s: state.State):\n    s.x = 1\n",
    "pkg/through.py": "import pkg.step as other\n\n\ndef f(s: other.State):\n    s.x = 1\n",
    "pkg/continued.py": "from pkg \\\n    import plain, \\\n    state\n\n\ndef f(s: state.State):\n    s.x = 1\n",
    "pkg/crlf.py": "from pkg.state \\\r\n    import State\r\n\r\n\r\ndef f(s: State):\r\n    s.x = 1\r\n",
    "pkg/plain.py": "def value():\n    return 1\n",
    "pkg/word.py": "# a state of mind\nfrom . import plain\n",
    "pkg/unused.py": "x = 1  # noqa: JAX401\n",
    "pkg/latin.py": b"x = '\xe9'\n",
    "pkg/broken.py": "def f(:\n",
}
SILENT = {"__init__.py", "plain.py", "word.py", "broken.py"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    for number in range(20):
        (tmp_path / "pkg" / f"filler{number}.py").write_text("y = 1\n")
    return tmp_path


def look(folder: Path) -> set[str]:
    """The names of the files that are irrelevant."""
    files = sorted(str(path) for path in folder.rglob("*.py"))
    found = irrelevant_files(files, make_project(files, Settings()), {"jax", "flax"})
    return {Path(path).name for path in found if not Path(path).name.startswith("filler")}


def test_the_packages_are_those_of_the_frameworks() -> None:
    names = [name for f in FRAMEWORKS if f.is_pytree for name in (*f.decorators, *f.bases)]
    assert {"jax", *(name.partition(".")[0] for name in names)} - {"typing", "dataclasses", "collections"} == (
        FRAMEWORK_PACKAGES
    )


def test_small_projects_are_parsed(project: Path) -> None:
    assert look(project) == set()
    assert [f.code for f in check_paths([str(project)]).findings if f.path.endswith("broken.py")] == ["JAX001"]


def test_which_files_are_silent(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxlint.linter.prefilter, "_WORTH_A_LOOK", 0)
    assert look(project) == SILENT


def test_what_is_no_file_is_not_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe would never end."""
    monkeypatch.setattr(jaxlint.linter.prefilter, "_WORTH_A_LOOK", 0)
    os.mkfifo(project / "pkg" / "pipe.py")
    assert look(project) == SILENT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import jax\n", True),
        ("from equinox.nn import Linear\n", True),
        ("import jax_dataclasses as jdc\n", True),
        ("x = 'jax'", True),
        ("treeo", True),
        ("import simple_pytree\n", True),
        ("x = mine.wörter", True),
        ("import jaxtyping, flaxy, reflax, jax_md, my_jax, Jax, JAX, treeox\n", False),
        ("axes = max(x.j, equinoxes)\n", False),
        ("jax_dataclasses_too = wörterbuch\n", False),
        ("", False),
    ],
)
def test_which_names_are_found(text: str, expected: bool) -> None:
    assert _Names({*FRAMEWORK_PACKAGES, "wörter"}).are_in(text.encode()) is expected


def test_where_jax_is_everywhere_all_is_parsed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxlint.linter.prefilter, "_WORTH_A_LOOK", 0)
    for number in range(20):
        (project / "pkg" / f"filler{number}.py").write_text("import jax\n")
    assert look(project) == set()


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_findings_are_the_same(project: Path, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    """But for syntax errors where nothing else could be found."""
    everything = check_paths([str(project)]).findings
    monkeypatch.setattr(jaxlint.linter.prefilter, "_WORTH_A_LOOK", 0)
    monkeypatch.setattr("jaxlint.linter.parallel.PAYS_FROM", {"fork": 0, "spawn": 0})
    checked: list[str] = []
    check = Checker.check

    def counted(checker: Checker, module: Module) -> list[Finding]:
        checked.append(Path(module.path).name)
        return check(checker, module)

    monkeypatch.setattr(Checker, "check", counted)
    found = check_paths([str(project)], jobs=jobs).findings
    assert found == [f for f in everything if not f.path.endswith("broken.py")]
    assert [f.code for f in found] == ["JAX401", "JAX401", "JAX001", "JAX401", "JAX401", "JAX401", "JAX002"]
    if jobs == 1:
        assert sorted(checked) == sorted(Path(name).name for name in FILES if Path(name).name not in SILENT)
