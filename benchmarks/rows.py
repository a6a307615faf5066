"""The rows of the table: each measures one promise."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import (
    CACHE,
    JAXLINT,
    ROOT,
    Measured,
    Spread,
    environment,
    lines_in,
    measure,
    ratios,
    take_turns,
    unpack,
)
from benchmarks.packages import JAX, PLAIN, PROJECT, TWENTY

#: Parses every file with the collector as Python sets it; without it, libcst takes 0.89 to 0.95 of that.
_PARSE = """
import pathlib, sys, libcst
for name in sys.argv[1:]:
    for path in sorted(pathlib.Path(name).rglob("*.py")):
        libcst.parse_module(path.read_bytes())
"""
#: A bug of our own, to show that bugs are found, in a file that nobody imports.
_PLANTED = "from brax.envs import State\n\n\ndef step(state: State) -> int:\n    state.reward = 1\n    return {}\n"


class Row(NamedTuple):
    """A promise, what was measured, and what it may be at most."""

    what: str
    measured: Spread
    bound: float
    unit: str = "x"

    @property
    def holds(self) -> bool:
        return self.measured.median <= self.bound

    @property
    def shown(self) -> str:
        return f"{self.measured} {self.unit}"


class Bench:
    """The packages on disk, and the commands that are measured."""

    CHECK = ("check", "--isolated", "-q", "--output-format=json")

    def __init__(self, repeat: int) -> None:
        self.repeat = repeat

    @cached_property
    def twenty(self) -> Path:
        folder = unpack(TWENTY, CACHE / "twenty")
        planted = folder / "planted"
        planted.mkdir(exist_ok=True)
        (planted / "pyproject.toml").touch()
        (planted / "planted.py").write_text(_PLANTED.format(0))
        return folder

    @cached_property
    def fifty(self) -> Path:
        return unpack(JAX, CACHE / "fifty")

    @cached_property
    def project(self) -> Path:
        return unpack(PROJECT, CACHE / "project")

    def parse(self, *paths: Path) -> Measured:
        return self.run([sys.executable, "-c", _PARSE, *map(str, paths)], ROOT, (0,))

    def check(self, folder: Path, *options: str, paths: Sequence[Path] = ()) -> Measured:
        """A run of the command over all that is in a folder, or over some paths."""
        given = [str(path) for path in paths or [folder]]
        return self.run([*JAXLINT, *self.CHECK, *options, *given], folder)

    def run(self, command: Sequence[str], folder: Path, codes: Sequence[int] = (0, 1)) -> Measured:
        return measure(command, folder, codes)


def cold(bench: Bench) -> Iterator[Row]:
    """One process, no cache, 20 packages; what is found must be the same each time."""
    folder = bench.twenty
    found = take_turns(
        {"parse": lambda: bench.parse(folder), "check": lambda: bench.check(folder, "-j1", "--no-cache")}, bench.repeat
    )
    assert len({one.output for one in found["check"]}) == 1
    findings = json.loads(found["check"][0].output)
    assert sum(finding["filename"].endswith("planted.py") for finding in findings) == 1
    yield Row("cold, 20 JAX packages / libcst.parse_module", ratios(found["check"], found["parse"]), 0.25)


def cold_plain(bench: Bench) -> Iterator[Row]:
    """Large packages without JAX."""
    for name, version in PLAIN.items():
        folder = unpack({name: version}, CACHE / "plain") / f"{name}-{version}"
        found = take_turns(
            {
                "parse": lambda folder=folder: bench.parse(folder),  # type: ignore[misc]
                "check": lambda folder=folder: bench.check(folder, "-j1", "--no-cache"),  # type: ignore[misc]
            },
            bench.repeat,
        )
        yield Row(f"cold, {name} / libcst.parse_module", ratios(found["check"], found["parse"]), 0.02)


def warm(bench: Bench) -> Iterator[Row]:
    """Nothing has changed, or the body of one function of a file that nobody imports."""
    folder, cache = bench.twenty, CACHE / "warm"
    planted = folder / "planted" / "planted.py"
    shutil.rmtree(cache, ignore_errors=True)
    options = ("-j1", f"--cache-dir={cache}")
    number = 0

    def changed() -> Measured:
        nonlocal number
        number += 1
        planted.write_text(_PLANTED.format(number))
        return bench.check(folder, *options)

    bench.check(folder, *options)
    changed()
    settle = lambda: bench.check(folder, *options)  # noqa: E731
    found = take_turns(
        {"settle": settle, "warm": settle, "changed": changed, "parse": lambda: bench.parse(folder)}, bench.repeat
    )
    planted.write_text(_PLANTED.format(0))
    yield Row("warm, 20 JAX packages / libcst.parse_module", ratios(found["warm"], found["parse"]), 0.05)
    yield Row("warm, one leaf file changed / unchanged", ratios(found["changed"], found["warm"]), 1.5)


def warm_project(bench: Bench) -> Iterator[Row]:
    """A project of 300 files, unchanged, against a start of Python."""
    cache = CACHE / "warm-project"
    shutil.rmtree(cache, ignore_errors=True)
    options = ("-j1", f"--cache-dir={cache}")
    bench.check(bench.project, *options)
    found = take_turns(
        {"pass": lambda: start(bench), "warm": lambda: bench.check(bench.project, *options)}, 4 * bench.repeat
    )
    yield Row("warm, a project of 300 files / python -c pass", ratios(found["warm"], found["pass"]), 6)


def start(bench: Bench) -> Measured:
    """A start of Python."""
    return bench.run([sys.executable, "-c", "pass"], ROOT)


def version(bench: Bench) -> Iterator[Row]:
    """The least that a command costs."""
    command = [*JAXLINT, "--version"]
    found = take_turns({"pass": lambda: start(bench), "version": lambda: bench.run(command, ROOT)}, 4 * bench.repeat)
    yield Row("jaxlint --version / python -c pass", ratios(found["version"], found["pass"]), 3)


def processes(bench: Bench) -> Iterator[Row]:
    """Two processes against one, 50 packages, wall time: only a quiet machine shows it."""
    folder = bench.fifty
    found = take_turns(
        {str(jobs): lambda jobs=jobs: bench.check(folder, f"-j{jobs}", "--no-cache") for jobs in (1, 2)},  # type: ignore[misc]
        bench.repeat,
    )
    assert len({one.output for runs in found.values() for one in runs}) == 1
    yield Row("two processes / one, cold, 50 packages, wall time", ratios(found["2"], found["1"], "wall"), 0.6)


def packages_of(folder: Path, wanted: int) -> tuple[list[Path], int]:
    """As many packages as have about so many lines."""
    paths: list[Path] = []
    lines = 0
    for path in sorted(folder.iterdir()):
        if lines < wanted:
            paths.append(path)
            lines += lines_in(path)
    return paths, lines


def memory(bench: Bench) -> Iterator[Row]:
    """The memory of one process, cold, for ten times as many lines."""
    small, large = (packages_of(bench.fifty, wanted)[0] for wanted in (100_000, 1_000_000))
    found = take_turns(
        {
            "small": lambda: bench.check(bench.fifty, "-j1", "--no-cache", paths=small),
            "large": lambda: bench.check(bench.fifty, "-j1", "--no-cache", paths=large),
        },
        bench.repeat,
    )
    yield Row("memory, 1 M lines / 100 k lines", ratios(found["large"], found["small"], "memory"), 2)
    yield Row("memory, 1 M lines", Spread.of([one.memory for one in found["large"]]), 400, "MB")


def editor(bench: Bench) -> Iterator[Row]:
    """From the last key to the diagnostics, in files of 600 lines, as one in ten is, and of 2,000."""
    program = ROOT / "benchmarks" / "editor.py"
    if not program.exists():
        print("  editor: not measured, there is no benchmarks/editor.py")
        return
    for lines, bound in (("600", 60), ("2000", 120)):
        slowest = []
        for _ in range(bench.repeat):
            command = [sys.executable, str(program), "--lines", lines]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
            slowest.append(max(float(found) for found in re.findall(r"p95 +([0-9.]+) ms", done.stdout)))
        yield Row(f"editor: last key to diagnostics, {lines} lines, p95", Spread.of(slowest), bound, "ms")


ROWS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "cold": cold,
    "cold-plain": cold_plain,
    "warm": warm,
    "warm-project": warm_project,
    "processes": processes,
    "memory": memory,
    "editor": editor,
    "version": version,
}
