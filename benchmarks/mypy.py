"""What the mypy plugin costs: mypy with and without it, in turns.

Over brax and gymnax from an empty cache; over flowjax and distrax with all that they import in the cache, and each of
their own files changed.

    python -m benchmarks.mypy [--repeat 5] [--only cold|cached]

jax, flax and numpy are those of the environment that runs this.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.common import CACHE, Measured, compile_jaxlint, measure, ratios, take_turns, unpack
from benchmarks.packages import JAX

COLD = ("brax", "gymnax")
COLD_BUDGET = 1.05
CACHED = ("flowjax", "distrax")
CACHED_BUDGET = 1.3
_CONFIG = "[mypy]\nignore_missing_imports = True\ncheck_untyped_defs = True\n"
#: The error that a class without the plugin gives where it is updated.
NO_REPLACE = re.compile(r'has no attribute "_?replace"')


def run(folder: Path, package: str, plugin: bool, cache: Path | None = None) -> Measured:
    """mypy over a package in a folder, with an empty cache unless there is one to go on from."""
    with tempfile.TemporaryDirectory() as empty:
        config = Path(empty) / "mypy.ini"
        config.write_text(_CONFIG + ("plugins = jaxlint_mypy\n" if plugin else ""))
        stored = f"--cache-dir={cache or Path(empty) / 'c'}"
        return measure([sys.executable, "-m", "mypy", f"--config-file={config}", stored, "-p", package], folder)


def sources(package: str) -> Path:
    """The folder of a package, alone."""
    return unpack({package: JAX[package]}, CACHE / f"{package}-alone") / f"{package}-{JAX[package]}"


def cold(package: str, repeat: int) -> bool:
    """Whether the plugin costs no more than it may over a package, where nothing is in the cache."""
    folder = sources(package)
    run(folder, package, True)  # compiles what is not compiled yet
    found = take_turns({kind: partial(run, folder, package, kind == "ours") for kind in ("plain", "ours")}, repeat)
    return _is_kept(f"{package}, empty cache", found, COLD_BUDGET)


def cached(package: str, repeat: int) -> bool:
    """Whether the plugin costs no more than it may over a package of which each file has changed, and nothing else."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(sources(package), Path(place) / package))

        def changed(kind: str) -> Measured:
            for path in folder.rglob("*.py"):
                path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
            return run(folder, package, kind == "ours", Path(place) / kind)

        kinds = {kind: partial(changed, kind) for kind in ("plain", "ours")}
        take_turns(kinds, 1)  # fills the caches
        return _is_kept(f"{package}, its imports cached", take_turns(kinds, repeat), CACHED_BUDGET)


def _is_kept(what: str, found: Mapping[str, Sequence[Measured]], budget: float) -> bool:
    plain, ours = (len(NO_REPLACE.findall(found[kind][0].output)) for kind in ("plain", "ours"))
    assert ours < plain or not plain  # distrax has none
    spread = ratios(found["ours"], found["plain"])
    print(f"{what}: mypy with the plugin / mypy: {spread}, at most {budget}", flush=True)
    return spread.median <= budget


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, help="how often each is measured (default: 5)")
    parser.add_argument("--only", choices=["cold", "cached"], help="what is measured (default: both)")
    given = parser.parse_args()
    compile_jaxlint()
    kept = [cold(package, given.repeat) for package in (COLD if given.only != "cached" else ())]
    kept += [cached(package, given.repeat) for package in (CACHED if given.only != "cold" else ())]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
