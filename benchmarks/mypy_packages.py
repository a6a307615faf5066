"""What mypy says of packages with and without the plugin: the errors that are gone, and those that are new.

    python -m benchmarks.mypy_packages [PACKAGE ...]

Each new error is printed: it is to be read. What mypy says at the same place in other words, now that it
knows the types, is called reworded.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.common import CACHE, compile_jaxlint, unpack
from benchmarks.mypy import NO_REPLACE, run
from benchmarks.packages import JAX

_NAMES = ("brax", "gymnax", "mctx", "evosax", "jumanji", "navix", "distrax", "flowjax", "diffrax", "lineax", "kfac_jax")
PACKAGES = {name: JAX[name] for name in _NAMES}


def errors(folder: Path, package: str, plugin: bool) -> list[str]:
    """The errors of mypy in a package."""
    return [line for line in run(folder, package, plugin).output.splitlines() if ": error: " in line]


def _place(line: str) -> tuple[str, str]:
    """The file and line of an error, and its code."""
    return line.partition(": error: ")[0], line.rpartition("  ")[2]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("packages", nargs="*", choices=[[], *PACKAGES], metavar="PACKAGE", help="default: all")
    chosen = parser.parse_args().packages or list(PACKAGES)
    compile_jaxlint()
    root = unpack({name: PACKAGES[name] for name in chosen}, CACHE / "typed")
    for name in chosen:
        folder = root / f"{name}-{PACKAGES[name]}"
        plain, ours = errors(folder, name, False), errors(folder, name, True)
        left = sum(bool(NO_REPLACE.search(line)) for line in ours)
        false = sum(bool(NO_REPLACE.search(line)) for line in plain)
        print(f"{name:10} {len(plain):4} -> {len(ours):4} errors; no attribute replace: {false} -> {left}", flush=True)
        before = {_place(line) for line in plain}
        for line in sorted(set(ours) - set(plain)):
            print(f"    {'reworded' if _place(line) in before else 'new'}: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
