"""What the mypy plugin costs: mypy over brax and gymnax from an empty cache, with and without it, in turns.

    python -m benchmarks.mypy [--repeat 5]

jax, flax and numpy are those of the environment that runs this.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.common import CACHE, Measured, compile_jaxlint, measure, ratios, take_turns, unpack
from benchmarks.packages import JAX

PACKAGES = ("brax", "gymnax")
BUDGET = 1.05
_CONFIG = "[mypy]\nignore_missing_imports = True\ncheck_untyped_defs = True\n"
#: The error that a class without the plugin gives where it is updated.
NO_REPLACE = re.compile(r'has no attribute "_?replace"')


def run(folder: Path, package: str, plugin: bool) -> Measured:
    """mypy over a package in a folder, with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        config = Path(cache) / "mypy.ini"
        config.write_text(_CONFIG + ("plugins = jaxlint_mypy\n" if plugin else ""))
        command = [sys.executable, "-m", "mypy", f"--config-file={config}", f"--cache-dir={cache}/c", "-p", package]
        return measure(command, folder)


def share(package: str, repeat: int) -> bool:
    """Whether the plugin costs no more than it may over a package."""
    folder = unpack({package: JAX[package]}, CACHE / f"{package}-alone") / f"{package}-{JAX[package]}"
    run(folder, package, True)  # compiles what is not compiled yet
    found = take_turns({kind: partial(run, folder, package, kind == "ours") for kind in ("plain", "ours")}, repeat)
    plain, ours = (len(NO_REPLACE.findall(found[kind][0].output)) for kind in ("plain", "ours"))
    assert ours < plain
    spread = ratios(found["ours"], found["plain"])
    print(f"{package}: mypy with the plugin / mypy: {spread}, at most {BUDGET}", flush=True)
    return spread.median <= BUDGET


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, help="how often each is measured (default: 5)")
    repeat = parser.parse_args().repeat
    compile_jaxlint()
    return 0 if all([share(package, repeat) for package in PACKAGES]) else 1


if __name__ == "__main__":
    sys.exit(main())
