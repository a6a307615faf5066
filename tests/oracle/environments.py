"""The environments that programs run in: this one, a newer Python with tjax, an old one with treex.

`main` is the interpreter that runs the tests. The others are built under `.envs/` when a Python of their
version exists on this machine, kept between runs by a hash of what is in them, and otherwise skipped with a
reason.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.oracle.frameworks import MAIN, NEWEST, TREEX

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".envs"
RUNNER = Path(__file__).with_name("run.py")
RUN_SECONDS = 1200


@dataclass(frozen=True)
class Recipe:
    """What an environment is made of: acceptable Python versions, the best first, and pip requirements."""

    pythons: tuple[str, ...]
    requirements: tuple[str, ...]


RECIPES = {
    NEWEST: Recipe(("3.13", "3.12"), ("tjax>=1.7,<2", "jax>=0.10.2,<0.13", "flax>=0.12.8,<0.13")),
    TREEX: Recipe(
        ("3.9",),
        (
            "treex==0.6.9",
            "treeo==0.0.9",
            "flax==0.4.2",
            "jax==0.4.13",
            "jaxlib==0.4.13",
            "numpy==1.23.5",
            "optax==0.0.9",
            "chex==0.1.7",
            "scipy==1.11.4",
        ),
    ),
}


class Unavailable(Exception):
    """An environment cannot be had on this machine; the text says why."""


def candidates(version: str) -> Iterator[str]:
    """Interpreters that may be Python `version`: on PATH, then those of pyenv."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        yield sys.executable
    if found := shutil.which(f"python{version}"):
        yield found
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from (str(path) for path in sorted(versions.glob(f"{version}.*/bin/python"), reverse=True))


def find_python(version: str) -> str | None:
    """An interpreter that runs and is Python `version`; a pyenv shim may exist and not run."""
    for candidate in candidates(version):
        command = [candidate, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and done.stdout.strip() == version:
            return candidate
    return None


def interpreter(name: str) -> str:
    """The Python of the environment `name`, built if need be; raises `Unavailable`."""
    found = look_up(name)
    if isinstance(found, Unavailable):
        raise found
    return found


@cache
def look_up(name: str) -> str | Unavailable:
    """The Python of the environment `name`, or why there is none."""
    if name == MAIN:
        if tuple(sys.version_info) < (3, 11):
            return Unavailable("the fixtures are run on Python 3.11 and later: see [frameworks] in pyproject.toml")
        return sys.executable
    recipe = RECIPES[name]
    python = next(filter(None, map(find_python, recipe.pythons)), None)
    if python is None:
        return Unavailable(f"no Python {' or '.join(recipe.pythons)} on this machine")
    digest = hashlib.sha256("\n".join([python, *recipe.requirements]).encode()).hexdigest()[:12]
    folder = ENVIRONMENTS / f"{name}-{digest}"
    inside = folder / "bin" / "python"
    done = folder / "complete"
    if done.exists():
        return str(inside)
    for old in ENVIRONMENTS.glob(f"{name}-*"):
        shutil.rmtree(old)
    print(f"building the environment {name} ({python})", file=sys.stderr)
    install = [str(inside), "-m", "pip", "install", "--quiet", *recipe.requirements]
    for command in ([python, "-m", "venv", str(folder)], install):
        step = subprocess.run(command, capture_output=True, text=True)
        if step.returncode:
            # not Unavailable: the Python is there, so a failing installation is an error to be seen
            raise RuntimeError(f"{' '.join(command)} failed:\n{step.stdout[-2000:]}{step.stderr[-4000:]}")
    done.touch()
    return str(inside)


def prepare(name: str) -> None:
    """Build an environment if it can be had, so that several are built at the same time."""
    with contextlib.suppress(Unavailable):
        interpreter(name)


@cache
def version(name: str) -> tuple[int, int]:
    """The Python version of an environment."""
    command = [interpreter(name), "-c", "import sys; print(*sys.version_info[:2])"]
    major, minor = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(major), int(minor)


def run(name: str, jobs: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Run `jobs` (see `run.py`) in one process of the environment `name`; the outcomes by id."""
    with tempfile.TemporaryDirectory() as folder:
        jobs_path, outcomes_path = Path(folder, "jobs.json"), Path(folder, "outcomes.jsonl")
        jobs_path.write_text(json.dumps(jobs), encoding="utf-8")
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "XLA_", "JAX_"))
        }
        environment |= {"JAX_PLATFORMS": "cpu", "PYTHONHASHSEED": "0", "TF_CPP_MIN_LOG_LEVEL": "3"}
        done = subprocess.run(
            [interpreter(name), str(RUNNER), str(jobs_path), str(outcomes_path)],
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            env=environment,
            cwd=folder,
        )
        lines = outcomes_path.read_text(encoding="utf-8").splitlines() if outcomes_path.exists() else []
        outcomes = [json.loads(line) for line in lines]
        if done.returncode or len(outcomes) != len(jobs):
            following = jobs[len(outcomes)]["id"] if len(outcomes) < len(jobs) else "the last program"
            raise RuntimeError(f"the runner ended at {following} (exit {done.returncode}):\n{done.stderr[-4000:]}")
        return {outcome["id"]: outcome for outcome in outcomes}
