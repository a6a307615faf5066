"""The environments that programs run in: this one, and those that are locked in `locks/` (see `versions.py`).

`main` is the interpreter that runs the tests. The others are built under `.envs/` for the tests marked `pythons` or
`versions`, when a Python of their version exists on this machine; they are stored between runs by a hash of what is in
them. Where they cannot be had, their programs are skipped with the reason.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock

from tests.oracle import versions
from tests.oracle.frameworks import MAIN
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".envs"
RUNNER = Path(__file__).with_name("run.py")
#: What makes environments; it is installed beside pytest.
UV = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])) or "uv"
#: How often a new process takes over from one that has ended too early.
MOST_ENDED = 5


class Unavailable(Exception):
    """An environment cannot be had on this machine; the text says why."""


def candidates(version: str) -> Iterator[str]:
    """Interpreters that may be Python `version`: on PATH, then those of pyenv."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        yield sys.executable
    if found := shutil.which(f"python{version}"):
        yield found
    of_pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from (str(path) for path in sorted(of_pyenv.glob(f"{version}.*/bin/python"), reverse=True))


def find_python(version: str) -> str | None:
    """An interpreter that runs and is Python `version`; a pyenv shim may exist and not run."""
    for candidate in candidates(version):
        command = [candidate, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
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
        if importlib.util.find_spec("jax") is None:
            return Unavailable("jax is not installed here: see [frameworks] in pyproject.toml")
        return sys.executable
    return build(name, versions.lock(name))


def build(name: str, requirements: Path, stored: bool = False) -> str | Unavailable:
    """The Python of an environment with the Python of the column `name` and what a file of requirements pins.

    Other environments of that name are removed, unless they are to be `stored`.
    """
    column = versions.COLUMNS[name]
    python = next(filter(None, map(find_python, column.pythons)), None)
    if python is None:
        return Unavailable(f"no Python {' or '.join(column.pythons)} on this machine")
    digest = hashlib.sha256(python.encode() + requirements.read_bytes()).hexdigest()[:12]
    folder = ENVIRONMENTS / f"{name}-{digest}"
    inside = folder / "bin" / "python"
    done = folder / "complete"
    ENVIRONMENTS.mkdir(exist_ok=True)
    with FileLock(ENVIRONMENTS / f"{name}.lock"):
        if done.exists():
            return str(inside)
        for old in () if stored else ENVIRONMENTS.glob(f"{name}-*"):
            shutil.rmtree(old)
        print(f"building the environment {name} ({python})", file=sys.stderr)
        make = [UV, "venv", "--quiet", "--python", python, str(folder)]
        install = [UV, "pip", "install", "--quiet", "--python", str(inside), "--requirement", str(requirements)]
        for command in (make, install):
            try:
                step = subprocess.run(command, capture_output=True, text=True)
            except FileNotFoundError:
                return Unavailable("uv is not installed: see [ci] in pyproject.toml")
            if step.returncode:
                return Unavailable(f"{' '.join(command)} failed:\n{step.stdout[-2000:]}{step.stderr[-4000:]}")
        done.touch()
    return str(inside)


def prepare(names: Iterable[str]) -> None:
    """Build the environments that can be had, several at the same time."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(look_up, names))


def versions_in(name: str) -> versions.Versions:
    """What an environment holds."""
    return versions.here() if name == MAIN else versions.locked(name)


#: The versions of jax between which XLA takes the flag that turns its emitters of fusions off: a quarter of what it
#: takes to compile. It ends the process for flags that it does not know.
_FUSES, _NO_SUCH_FLAG = (0, 6), (0, 11)


class Broken(Exception):
    """The runner of an environment does not start, or ends again and again; the text says how."""


class _Runner:
    """A process of an environment that has imported jax and runs one program after the other; see `run.py`."""

    def __init__(self, python: str, variables: dict[str, str], compiled: Path) -> None:
        """Start it: it imports jax while something else may be done."""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [python, str(RUNNER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=variables,
            cwd=compiled,
        )
        self.text = b""
        self.is_ready = False

    def wait(self) -> None:
        """Wait until it has imported jax. Raises `Broken`."""
        if not self.is_ready and self._line(None) is None:
            raise Broken(f"the runner does not start: {self.end()}")
        self.is_ready = True

    def run(self, job: dict[str, Any]) -> dict[str, Any] | None:
        """The outcome of a program; nothing if it has ended the process or does not end."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        line = self._line(PATIENCE)
        return None if line is None else dict(json.loads(line))

    def _line(self, patience: float | None) -> bytes | None:
        """The next line that the process writes; nothing if none comes."""
        assert self.process.stdout is not None
        while b"\n" not in self.text:
            if not select.select([self.process.stdout], [], [], patience)[0]:
                self.process.kill()
                return None
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                return None
            self.text += more
        line, _, self.text = self.text.partition(b"\n")
        return line

    def end(self) -> str:
        """End the process; how it ended and what it has said."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        code = self.process.wait()
        how = f"nothing was done in {PATIENCE} seconds" if code == -signal.SIGKILL else f"exit {code}"
        self.errors.seek(0)
        with self.errors:
            return f"{how}\n{self.errors.read().decode(errors='replace')[-4000:]}"


class Runners:
    """Processes that run programs, in any environment; they live as long as this does."""

    def __init__(self, compiled: Path) -> None:
        """XLA keeps what it has compiled in the folder `compiled`, for all of them."""
        self._compiled = compiled
        self._idle: dict[str, list[_Runner]] = defaultdict(list)

    def begin(self, name: str, number: int) -> None:
        """Start so many processes in the environment `name`, which are needed soon."""
        if isinstance(look_up(name), str):
            self._idle[name] += [self._start(name) for _ in range(number)]

    def run(self, name: str, jobs: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Run `jobs` (see `run.py`) one after the other in the environment `name`; the outcomes by id.

        A program that ends the process, or is not done after `PATIENCE` seconds, shows the error `Ended`, and a new
        process takes over. May be called by several threads at once. Raises `Broken`.
        """
        found: dict[str, dict[str, Any]] = {}
        ended: list[str] = []
        runner = self._take(name)
        for job in jobs:
            outcome = runner.run(job)
            if outcome is None:
                how = runner.end()
                outcome = {"id": job["id"], "error": {"types": ["Ended"], "text": how}}
                outcome |= {"output": "", "warnings": [], "calls": []}
                ended.append(job["id"])
                if len(ended) > MOST_ENDED:
                    raise Broken(f"the runner ended at {', '.join(ended)}; at last: {how}")
                runner = self._take(name)
            found[job["id"]] = outcome
        self._idle[name].append(runner)
        return found

    def _take(self, name: str) -> _Runner:
        """A runner that does nothing now."""
        try:
            found = self._idle[name].pop()
        except IndexError:
            found = self._start(name)
        found.wait()
        return found

    def _start(self, name: str) -> _Runner:
        return _Runner(interpreter(name), variables(versions_in(name), self._compiled), self._compiled)

    def end(self) -> None:
        """End all processes."""
        for runners in self._idle.values():
            while runners:
                runner = runners.pop()
                runner.process.kill()  # to take leave of jax takes seconds
                runner.end()


def variables(found: versions.Versions, compiled: Path) -> dict[str, str]:
    """The environment variables of programs in an environment with these versions.

    The programs are tiny and run once: most of the time would go into compiling them. The same case in the spellings
    of several frameworks is the same program for XLA, which is compiled once.
    """
    flags = ["--xla_backend_optimization_level=0"]
    if _FUSES <= found.get("jax", ()) < _NO_SUCH_FLAG:
        flags += ["--xla_cpu_use_fusion_emitters=false", "--xla_llvm_disable_expensive_passes=true"]
        flags += ["--xla_cpu_parallel_codegen_split_count=1"]
    stored = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "XLA_", "JAX_"))}
    return stored | {
        "JAX_PLATFORMS": "cpu",
        "JAX_TRACEBACK_FILTERING": "off",  # nobody looks at tracebacks
        "JAX_COMPILATION_CACHE_DIR": str(compiled),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none",
        "XLA_FLAGS": " ".join(flags),
        "PYTHONHASHSEED": "0",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
