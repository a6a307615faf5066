"""The wheel and the sdist: what is in them, and that the wheel works where only its dependencies are installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from jaxlint import __version__
from tests.oracle.cases import one_of_each, programs
from tests.oracle.environments import find_python
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "CONDA"))}


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=cwd, env=CLEAN, timeout=PATIENCE)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    done = run(sys.executable, "-m", "pip", "wheel", *options, ROOT)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of an environment that holds the wheel and its dependencies, nothing else."""
    return install(wheel, sys.executable, tmp_path_factory.mktemp("installed") / "environment")


def install(wheel: Path, python: str, folder: Path) -> Path:
    """Make a new environment of a Python that holds the wheel and its dependencies; its scripts."""
    done = run(python, "-m", "venv", folder)
    assert done.returncode == 0, done.stderr
    done = run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    assert done.returncode == 0, done.stderr
    return folder / "bin"


def test_name(wheel: Path) -> None:
    assert wheel.name == f"jaxlint_pytree-{__version__}-py3-none-any.whl"


def test_holds_the_package_and_nothing_else(names: list[str]) -> None:
    sources = {
        str(path.relative_to(ROOT))
        for suffix in ("*.py", "*.pyi", "*.html", "py.typed")
        for path in (ROOT / "jaxlint").rglob(suffix)
        if not any(part.startswith((".", "__pycache__")) for part in path.relative_to(ROOT).parts)
    }
    assert {"jaxlint/py.typed", "jaxlint/pytrees/stubs/train_state.pyi", "jaxlint/cli/main.py"} <= sources
    information = f"jaxlint_pytree-{__version__}.dist-info/"
    plugins = {name for name in names if name.split("/")[0] in ("jaxlint_flake8", "jaxlint_mypy", "jaxlint_lsp")}
    assert {n for n in names if not n.startswith(information)} - plugins == sources
    assert {name.split("/")[0] for name in names} & {"plugins", "tests", "fixtures", "benchmarks", "docs"} == set()
    assert information + "licenses/LICENSE" in names


def test_metadata(wheel: Path, names: list[str]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        texts = {name.rpartition("/")[2]: archive.read(name).decode() for name in names if ".dist-info/" in name}
    metadata = Parser().parsestr(texts["METADATA"])
    assert metadata["Name"] == "jaxlint-pytree"
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["Description-Content-Type"] == "text/markdown"
    plain = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    needed = sorted(line.partition(">")[0].strip() for line in plain)
    assert needed == ["click", "libcst", "msgspec", "pathspec", "rich", "tomli"]
    assert "jaxlint = jaxlint.cli.entry:run" in texts["entry_points.txt"].splitlines()


def test_the_sdist_holds_the_whole_repository(tmp_path: Path) -> None:
    """So all tests that run in a clone find what they read: pages, fixtures, workflows, `.ci/run`."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a clone of the repository")
    done = run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout
    files = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    assert {".ci/run", "RELEASING.md", "tests/packaging/test_wheel.py"} <= files
    assert held == files | {"PKG-INFO"}


@pytest.mark.pypi
def test_runs_without_jax(installed: Path) -> None:
    for package in ("jax", "flax", "numpy"):
        done = run(installed / "python", "-c", f"import {package}", cwd=installed)
        assert (done.returncode, "ModuleNotFoundError" in done.stderr) == (1, True)
    done = run(installed / "jaxlint", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"jaxlint {__version__}\n", "")
    done = run(installed / "python", "-c", "import jaxlint; print(jaxlint.__file__)", cwd=installed)
    assert done.stdout.startswith(str(installed.parent))


@pytest.mark.pypi
def test_checks_the_demo(installed: Path) -> None:
    done = run(installed / "jaxlint", "check", "--output-format", "concise", "fixtures/demo")
    assert (done.returncode, done.stderr) == (1, "")
    *found, count, fixable = done.stdout.splitlines()
    assert [line.split()[1] for line in found] == ["JAX201", "JAX401", "JAX301", "JAX401", "JAX402", "JAX202"]
    assert (count, fixable.split()[:2]) == ("Found 6 errors.", ["[*]", "2"])


@pytest.mark.pypi
def test_shows_a_rule(installed: Path) -> None:
    done = run(installed / "jaxlint", "rule", "JAX401", cwd=installed)
    assert done.returncode == 0
    assert done.stdout.startswith("# frozen-assignment (JAX401)\n")


@pytest.mark.pythons
@pytest.mark.parametrize("version", ["3.10", "3.13"])
def test_other_pythons_find_the_same(wheel: Path, installed: Path, version: str, tmp_path: Path) -> None:
    python = find_python(version)
    if python is None or sys.version_info[:2] == tuple(map(int, version.split("."))):
        pytest.skip(f"no other Python {version} on this machine")
    project = tmp_path / "project"
    for program in one_of_each(programs()):
        program.write(project)
    options = ("--isolated", "--no-cache", "--select", "ALL", "--preview", "--output-format", "json-lines")
    command = ("check", *options, ".")
    here = run(installed / "jaxlint", *command, cwd=project)
    there = run(install(wheel, python, tmp_path / "environment") / "jaxlint", *command, cwd=project)
    assert (there.returncode, there.stderr) == (here.returncode, here.stderr)
    assert len(here.stdout.splitlines()) > 300
    assert there.stdout == here.stdout
