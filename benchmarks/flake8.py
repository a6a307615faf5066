"""What the flake8 plugin costs: flake8 with it against flake8 without it, on a package with JAX and on one without.

    python -m benchmarks.flake8 [--repeat 5]

Each measurement is the CPU time of one flake8 process (`-j 1`) over the whole package; the kinds take turns.
"cold" starts without a cache, "warm" finds that of the run before. flake8 without the plugin runs in an
environment of its own, of the same versions.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import venv
from functools import partial
from importlib.metadata import version
from pathlib import Path

from benchmarks.common import CACHE, Measured, compile_jaxlint, measure, ratios, take_turns, unpack
from benchmarks.packages import JAX, PLAIN

#: A package, its pinned version, and what the plugin may cost there.
PACKAGES = {"brax": (JAX["brax"], 1.3), "django": (PLAIN["django"], 1.05)}
RESULTS = CACHE / "results"


def plain_python() -> Path:
    """An interpreter with this flake8 and without jaxlint."""
    folder = CACHE / f"flake8-{version('flake8')}"
    if not folder.is_dir():
        venv.create(folder, with_pip=True)
        pinned = [f"{name}=={version(name)}" for name in ("flake8", "pycodestyle", "pyflakes", "mccabe")]
        subprocess.run([folder / "bin" / "pip", "install", "-q", *pinned], check=True)
    return folder / "bin" / "python"


def run(folder: Path, python: Path, kind: str) -> Measured:
    """One run; a "cold" one forgets the cache first, a "plain" one knows nothing of jaxlint."""
    if kind == "cold":
        shutil.rmtree(RESULTS, ignore_errors=True)
    changes = {"JAXLINT_CACHE_DIR": str(RESULTS)} | ({"PYTHONPATH": ""} if kind == "plain" else {})
    return measure([python, "-m", "flake8", "--isolated", "-j", "1", "."], folder, (0, 1), **changes)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    compile_jaxlint()
    pythons = {"plain": plain_python(), "cold": Path(sys.executable), "warm": Path(sys.executable)}
    missed = False
    print(f"{'package':<10}{'cold':>24}{'warm':>24}{'allowed':>9}")
    for name, (wanted, allowed) in PACKAGES.items():
        folder = unpack({name: wanted}, CACHE / "flake8") / f"{name}-{wanted}"
        kinds = {kind: partial(run, folder, python, kind) for kind, python in pythons.items()}
        found = take_turns(kinds, repeat)
        cold, warm = (ratios(found[kind], found["plain"]) for kind in ("cold", "warm"))
        print(f"{name:<10}{cold!s:>24}{warm!s:>24}{allowed:>9.2f}")
        missed = missed or warm.median > allowed
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
