"""Classes of installed packages: bugs are found only where classes are known."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import pytest

from jaxlint import check_paths
from jaxlint.config.configuration import Configuration
from jaxlint.config.settings import Settings
from tests.project.marked import STATE, STEP, write

INSTALLED = "from installed.states import State" + textwrap.dedent(STEP)


def environment(root: Path) -> Path:
    """A folder that looks like a virtual environment with one package in it."""
    folder = root / "environment"
    site = folder / "lib" / "python3.11" / "site-packages"
    write(site, {"installed/__init__.py": "", "installed/states.py": STATE})
    write(folder, {"pyvenv.cfg": ""})
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    return folder


def certain(path: Path, python: str | None) -> list[tuple[str, int]]:
    result = check_paths([str(path)], Settings(python=python))
    assert result.errors == []
    return [(f.code, f.row) for f in result.findings]


def test_installed_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    folder = environment(tmp_path)
    write(tmp_path, {"code/use.py": INSTALLED})
    use = tmp_path / "code"
    assert certain(use, None) == []
    assert certain(use, str(folder)) == [("JAX401", 3)]
    assert certain(use, str(folder / "bin" / "python")) == [("JAX401", 3)]
    monkeypatch.setenv("VIRTUAL_ENV", str(folder))
    assert certain(use, None) == [("JAX401", 3)]
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "gone"))
    assert certain(use, None) == []


def test_classes_of_the_environment_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"code/use.py": INSTALLED})
    assert check_paths(["code"], Configuration()).findings == []
    environment(tmp_path).rename(tmp_path / ".venv")
    assert [(f.code, f.row) for f in check_paths(["code"], Configuration()).findings] == [("JAX401", 3)]


def test_one_s_own_modules_win_over_installed_ones(tmp_path: Path) -> None:
    folder = environment(tmp_path)
    write(
        tmp_path,
        {
            "code/use.py": INSTALLED,
            "code/installed/__init__.py": "",
            "code/installed/states.py": "class State:\n    x = 0\n",
        },
    )
    assert certain(tmp_path / "code", str(folder)) == []


def test_editable_install(tmp_path: Path) -> None:
    folder = environment(tmp_path)
    write(tmp_path, {"elsewhere/src/editable/__init__.py": STATE})
    write(tmp_path, {"code/use.py": "from editable import State" + textwrap.dedent(STEP)})
    assert certain(tmp_path / "code", str(folder)) == []
    site = folder / "lib" / "python3.11" / "site-packages"
    lines = ["# a comment", "import sys; raise SystemExit('never run')", "", str(tmp_path / "elsewhere" / "src")]
    (site / "__editable__.pth").write_text(os.linesep.join(lines))
    assert certain(tmp_path / "code", str(folder)) == [("JAX401", 3)]


def test_relative_path_in_pth(tmp_path: Path) -> None:
    folder = environment(tmp_path)
    write(tmp_path, {"elsewhere/editable.py": STATE})
    write(tmp_path, {"code/use.py": "from editable import State" + textwrap.dedent(STEP)})
    (folder / "lib" / "python3.11" / "site-packages" / "a.pth").write_text("../../../../elsewhere\n")
    assert certain(tmp_path / "code", str(folder)) == [("JAX401", 3)]


def test_stub_package(tmp_path: Path) -> None:
    """Inherited from a class that is installed as a stub only."""
    folder = environment(tmp_path)
    write(folder / "lib" / "python3.11" / "site-packages", {"stubbed/__init__.pyi": STATE})
    use = "from stubbed import State\n\nclass Mine(State): ...\n" + textwrap.dedent(STEP)
    write(tmp_path, {"code/use.py": use})
    assert certain(tmp_path / "code", str(folder)) == [("JAX401", 6)]


# -- configured and home-made declarations ---------------------------------------------------
