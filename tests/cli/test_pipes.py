"""Nothing that a project holds keeps a run waiting: each of its files is a named pipe in turn."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests import forked

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")

SITE = ".venv/lib/python3.11/site-packages"
FILES = {
    "main.py": "import jax\nfrom flax import struct\nfrom installed import A\n\nx = 1  # noqa: JAX401\n",
    "pyproject.toml": '[tool.jaxlint]\nbaseline = "known.json"\n[project]\ndependencies = ["jax<1"]\n',
    "known.json": '{"version": 1, "findings": []}',
    "requirements.txt": "-r more.txt\n",
    "more.txt": "flax<0.12\n",
    "setup.cfg": "[options]\ninstall_requires =\n  chex<1\n",
    "setup.py": "setup(install_requires=['equinox<1'])\n",
    "ruff.toml": 'extend = "other.toml"\n',
    "other.toml": 'lint.select = ["RUF"]\n',
    ".gitignore": "*.txt\n",
    ".git/info/exclude": "*.txt\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    ".venv/pyvenv.cfg": "home = /usr/bin\n",
    f"{SITE}/more.pth": "elsewhere\n",
    f"{SITE}/installed/__init__.py": "class A: pass\n",
    f"{SITE}/jax-0.10.2.dist-info/METADATA": "Name: jax\n",
}


def write(folder: Path) -> None:
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def replaced(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def environment() -> dict[str, str]:
    return {
        key: text for key, text in os.environ.items() if key not in ("VIRTUAL_ENV", "CONDA_PREFIX", "JAXLINT_NO_CACHE")
    }


def check(folder: Path, *arguments: str) -> None:
    done = forked.run("jaxlint", ["check", "-q", "--output-format", "concise", *arguments], folder, environment())
    assert done.returncode in (0, 1, 2)
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_in_a_project(name: str, tmp_path: Path) -> None:
    write(tmp_path)
    replaced(tmp_path / name)
    check(tmp_path, "--no-cache")


def test_pipes_in_the_cache(tmp_path: Path) -> None:
    write(tmp_path)
    check(tmp_path)
    cache = tmp_path / ".jaxlint_cache"
    stored = [path.relative_to(cache) for path in sorted(cache.rglob("*")) if path.is_file()]
    assert len(stored) > 3
    shutil.move(cache, tmp_path / "stored")
    for name in stored:
        shutil.copytree(tmp_path / "stored", cache)
        replaced(cache / name)
        check(tmp_path)
        done = forked.run("jaxlint", ["clean"], tmp_path, environment())
        assert done.returncode in (0, 2)
        shutil.rmtree(cache, ignore_errors=True)


def test_a_baseline_that_is_a_pipe_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    replaced(tmp_path / "known.json")
    done = forked.run("jaxlint", ["check", "-q", "--no-cache"], tmp_path, environment())
    assert done.returncode == 2
    assert done.stderr == "jaxlint: error: known.json: cannot be read: is a named pipe, not a regular file\n"
