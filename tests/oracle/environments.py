"""The environments that programs run in: this one, a newer Python with tjax, an old one with treex.

`main` is the interpreter that runs the tests. The others are built under `.envs/` for the tests marked `pythons`, when
a Python of their version exists on this machine; they are kept between runs by a hash of what is in them. Where they
cannot be had, their programs are skipped with the reason.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.oracle.frameworks import MAIN, NEWEST, TREEX

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".envs"
RUNNER = Path(__file__).with_name("run.py")
#: How long one program may take, in seconds: a thousand times what the slowest one takes.
PATIENCE = 1200
#: How often a new process takes over from one that has ended too early.
MOST_ENDED = 5


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
            return Unavailable(f"{' '.join(command)} failed:\n{step.stdout[-2000:]}{step.stderr[-4000:]}")
    done.touch()
    return str(inside)


def prepare(names: Iterable[str]) -> None:
    """Build the environments that can be had, several at the same time."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(look_up, names))


@cache
def version(name: str) -> tuple[int, int]:
    """The Python version of an environment."""
    command = [interpreter(name), "-c", "import sys; print(*sys.version_info[:2])"]
    major, minor = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(major), int(minor)


class Broken(Exception):
    """The runner of an environment does not start, or ends again and again; the text says how."""


def run(name: str, jobs: list[dict[str, Any]], compiled: Path | None = None) -> dict[str, dict[str, Any]]:
    """Run `jobs` (see `run.py`) one after the other in the environment `name`; the outcomes by id.

    A program that ends the process, or is not done after `PATIENCE` seconds, shows the error `Ended`, and a new process
    takes over. XLA keeps what it has compiled in the folder `compiled`. Raises `Broken`.
    """
    found: dict[str, dict[str, Any]] = {}
    ended: list[str] = []
    while jobs:
        outcomes, how = _one_process(name, jobs, compiled)
        found |= {outcome["id"]: outcome for outcome in outcomes}
        jobs = jobs[len(outcomes) :]
        if jobs:
            last, jobs = jobs[0]["id"], jobs[1:]
            error = {"types": ["Ended"], "text": how}
            found[last] = {"id": last, "error": error, "output": "", "warnings": [], "calls": []}
            ended.append(last)
        if len(ended) > MOST_ENDED:
            raise Broken(f"the runner ended at {', '.join(ended)}; at last: {how}")
    return found


def _one_process(name: str, jobs: list[dict[str, Any]], compiled: Path | None) -> tuple[list[dict[str, Any]], str]:
    """What one process has run of `jobs`, the first ones first, and how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        jobs_path, outcomes_path, errors_path = (Path(folder, n) for n in ("jobs.json", "outcomes.jsonl", "errors"))
        jobs_path.write_text(json.dumps(jobs), encoding="utf-8")
        command = [interpreter(name), str(RUNNER), str(jobs_path), str(outcomes_path)]
        with errors_path.open("wb") as errors:
            process = subprocess.Popen(
                command, stdout=errors, stderr=errors, env=_variables(compiled or Path(folder)), cwd=folder
            )
            with process:
                how = _watch(process, outcomes_path)
        lines = outcomes_path.read_text(encoding="utf-8").splitlines() if outcomes_path.exists() else []
        said = f"{how}\n{errors_path.read_text(errors='replace')[-4000:]}"
        if not lines:
            raise Broken(f"the runner does not start: {said}")
        return [json.loads(line) for line in lines[1:]], said


def _watch(process: subprocess.Popen[bytes], outcomes: Path) -> str:
    """Wait for the end of a process that goes on writing once it has started; how it ended."""
    size = 0
    while True:
        try:
            return f"exit {process.wait(PATIENCE)}"
        except subprocess.TimeoutExpired:
            before, size = size, outcomes.stat().st_size if outcomes.exists() else 0
            if 0 < before == size:
                process.kill()
                return f"nothing was done in {PATIENCE} seconds, exit {process.wait()}"


def _variables(compiled: Path) -> dict[str, str]:
    """The environment variables of a runner.

    The programs are tiny and run once: most of the time would go into compiling them. The same case in the spellings
    of several frameworks is the same program for XLA, which is compiled once.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "XLA_", "JAX_"))}
    return kept | {
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(compiled),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none",
        "XLA_FLAGS": "--xla_backend_optimization_level=0",
        "PYTHONHASHSEED": "0",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
