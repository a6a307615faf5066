"""What all benchmarks share: pinned packages, processes that are measured, medians with their spread.

A measurement is the CPU time of a process of its own, from the start of Python to its end, and of the processes that it
waits for; what is compared takes turns. The packages are downloaded once into `.benchmarks/`.
"""

from __future__ import annotations

import compileall
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".benchmarks"
#: The command, as its console script starts it.
JAXLINT = (sys.executable, "-c", "from jaxlint.cli.entry import run\nrun()")


class Measured(NamedTuple):
    """What one process took: CPU and wall seconds, and its largest memory in MB; and what it said."""

    cpu: float
    wall: float
    memory: float
    code: int
    output: str


class Spread(NamedTuple):
    """The median of several ratios, the least and the greatest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        digits = max(2, 3 - len(str(int(self.median))) + 1)
        return f"{self.median:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"


def environment(**changes: str) -> dict[str, str]:
    """The environment of what is measured: like that of an installed program, which is compiled and set up."""
    stored = {k: v for k, v in os.environ.items() if not k.startswith("JAXLINT_") and k != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join([str(ROOT), str(ROOT / "plugins")])
    return {**stored, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "NO_COLOR": "1", **changes}


def compile_jaxlint() -> None:
    """Write the bytecode that an installer writes."""
    for folder in ("jaxlint", "plugins"):
        compileall.compile_dir(str(ROOT / folder), quiet=2)


def measure(command: Sequence[str | Path], folder: Path, codes: Sequence[int] = (0, 1), **changes: str) -> Measured:
    """Run a command in a folder. Raises SystemExit if it ends with another code than `codes`."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=errors, env=environment(**changes))
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = code = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if code not in codes:
            raise SystemExit(f"{' '.join(map(str, command))[:200]}: exit {code}\n{errors.read()[-2000:]}")
        return Measured(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1000, code, output.read())


def take_turns(kinds: Mapping[str, Callable[[], Measured]], repeat: int) -> dict[str, list[Measured]]:
    """Measure each kind `repeat` times, one after the other."""
    found: dict[str, list[Measured]] = {kind: [] for kind in kinds}
    for _ in range(repeat):
        for kind, run in kinds.items():
            found[kind].append(run())
    return found


def ratios(some: Sequence[Measured], others: Sequence[Measured], what: str = "cpu") -> Spread:
    """`some` in terms of those of the `others` that were measured in the same turn."""
    return Spread.of([getattr(a, what) / getattr(b, what) for a, b in zip(some, others, strict=True)])


# -- packages -----------------------------------------------------------------------------------


def wheel(name: str, version: str, wheels: Path = CACHE / "wheels") -> Path:
    """The wheel of a package, downloaded if it is not there; for one Python version whichever runs."""
    found = list(wheels.glob(f"{name}-{version}-*.whl"))
    if not found:
        options = ["-q", "--no-deps", "--only-binary=:all:", "--python-version=3.12", f"--dest={wheels}"]
        subprocess.run([sys.executable, "-m", "pip", "download", *options, f"{name}=={version}"], check=True)
        found = list(wheels.glob(f"{name}-{version}-*.whl"))
    return found[0]


def unpack(packages: Mapping[str, str], folder: Path) -> Path:
    """The sources of every package in a folder of its own, a project of its own."""
    for name, version in packages.items():
        target = folder / f"{name}-{version}"
        if not (target / "pyproject.toml").exists():
            with zipfile.ZipFile(wheel(name, version)) as archive:
                archive.extractall(target, [n for n in archive.namelist() if n.endswith(".py")])
            (target / "pyproject.toml").touch()
    return folder


def lines_in(folder: Path) -> int:
    """How many lines the Python files below a folder have."""
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py"))
