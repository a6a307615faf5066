"""What the mypy plugin costs: mypy over brax from an empty cache, with and without it, in turns.

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

BRAX = JAX["brax"]
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


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, help="how often each is measured (default: 5)")
    repeat = parser.parse_args().repeat
    compile_jaxlint()
    folder = unpack({"brax": BRAX}, CACHE / "brax-alone") / f"brax-{BRAX}"
    run(folder, "brax", True)  # compiles what is not compiled yet
    found = take_turns({kind: partial(run, folder, "brax", kind == "ours") for kind in ("plain", "ours")}, repeat)
    plain, ours = (len(NO_REPLACE.findall(found[kind][0].output)) for kind in ("plain", "ours"))
    assert ours < plain
    spread = ratios(found["ours"], found["plain"])
    print(f"mypy with the plugin / mypy: {spread}, at most {BUDGET}")
    return 0 if spread.median <= BUDGET else 1


if __name__ == "__main__":
    sys.exit(main())
