"""Other tools over the same package, in parses of libcst."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from benchmarks.common import CACHE, Measured, measure, ratios, take_turns, unpack
from benchmarks.packages import FOR_PEERS, PEERS
from benchmarks.rows import Bench

_UNEVENTFUL = ("--no-cache", "--isolated", "-q", "--exit-zero")
#: What each tool is asked; `{cache}` is a new folder.
_COMMANDS = {
    "ruff": ["ruff", "check", *_UNEVENTFUL, "."],
    "ruff, all rules": ["ruff", "check", *_UNEVENTFUL, "--select=ALL", "."],
    "pyflakes": ["pyflakes", "."],
    "flake8": ["flake8", "--isolated", "-j1", "."],
    "pylint": ["pylint", "-j1", "--exit-zero", "--recursive=y", "."],
    "fixit": ["fixit", "lint", "."],
    "mypy, cold": ["mypy", "--config-file=", "--cache-dir={cache}", "--ignore-missing-imports", "."],
}  # fmt: skip


def installed() -> Path:
    """The folder with the programs of the peers, in an environment of their own."""
    folder = CACHE / "peers"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        for name, version in PEERS.items():
            done = subprocess.run([folder / "bin" / "pip", "install", "-qqq", f"{name}=={version}"], check=False)
            if done.returncode:
                print(f"  {name} {version} cannot be installed")
        (folder / "done").touch()
    return folder / "bin"


def compare(bench: Bench) -> None:
    """Measure all of them in turns, and print a table."""
    ((name, version),) = FOR_PEERS.items()
    folder = unpack(FOR_PEERS, CACHE / "peers-on") / f"{name}-{version}"
    programs = installed()

    def run(words: list[str]) -> Measured:
        with tempfile.TemporaryDirectory() as cache:
            command = [sys.executable if words[0] == "python" else str(programs / words[0]), *words[1:]]
            command = [word.format(cache=cache) for word in command]
            return measure(command, folder, range(64), XDG_CACHE_HOME=cache, PYLINTHOME=cache, PYTHONPATH="")

    kinds = {
        kind: (lambda words=words: run(words)) for kind, words in _COMMANDS.items() if (programs / words[0]).exists()
    }
    found = take_turns(
        {
            "libcst.parse_module": lambda: bench.parse(folder),
            "jaxlint": lambda: bench.check(folder, "-j1", "--no-cache"),
            **kinds,
        },
        bench.repeat,
    )
    print(f"\n{name} {version}, CPU time:")
    for kind, runs in found.items():
        print(f"  {kind:24}{ratios(runs, found['libcst.parse_module'])!s:>26}")
