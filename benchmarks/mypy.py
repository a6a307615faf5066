"""What the mypy plugin costs: mypy over brax from an empty cache, with and without it, in pairs.

    python benchmarks/mypy.py [--repeat 5]

Each measurement is the CPU time of a process of its own. What else runs on a machine only ever adds to it, so that
the least of each kind is compared; the ratios of the pairs are printed as well. brax is downloaded once into
`.benchmarks/`; jax, flax and numpy are those of the environment that runs this. jaxlint is compiled to bytecode, as it
is once installed, also where the environment says that Python is to write none.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".benchmarks"
BRAX = "0.14.2"
BUDGET = 1.05
CONFIG = "[mypy]\nignore_missing_imports = True\ncheck_untyped_defs = True\n"
_NO_REPLACE = re.compile(r'has no attribute "replace"')


def unpack(folder: Path) -> None:
    """brax's sources, from its wheel."""
    if (folder / "brax").exists():
        return
    wheels = CACHE / "wheels"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", f"--dest={wheels}", f"brax=={BRAX}"]
    if not list(wheels.glob(f"brax-{BRAX}-*.whl")):
        subprocess.run(command, check=True)
    (wheel,) = wheels.glob(f"brax-{BRAX}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [n for n in archive.namelist() if n.endswith(".py")])


def environment() -> dict[str, str]:
    """The environment of a mypy that finds the plugin, compiled."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join([str(ROOT), str(ROOT / "plugins")])
    return {**kept, "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(CACHE / "bytecode")}


def measure(folder: Path, plugin: bool) -> tuple[float, str]:
    """The CPU seconds of mypy over brax, and what it prints."""
    with tempfile.TemporaryDirectory() as cache:
        config = Path(cache) / "mypy.ini"
        config.write_text(CONFIG + ("plugins = jaxlint_mypy\n" if plugin else ""))
        command = [sys.executable, "-m", "mypy", f"--config-file={config}", f"--cache-dir={cache}/c", "-p", "brax"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 1), done.stdout
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5, help="how often each is measured (default: 5)")
    parser.add_argument("--folder", type=Path, default=CACHE / "brax", help="where brax is unpacked")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    unpack(options.folder)
    measure(options.folder, True)  # compiles what is not compiled yet
    pairs: list[tuple[float, float]] = []
    for number in range(options.repeat):
        order = (False, True) if number % 2 == 0 else (True, False)
        found = {plugin: measure(options.folder, plugin) for plugin in order}
        (plain, text), (ours, ours_text) = found[False], found[True]
        assert len(_NO_REPLACE.findall(ours_text)) < len(_NO_REPLACE.findall(text))
        pairs.append((plain, ours))
        print(
            f"run {number + 1}: mypy {plain:6.2f} s, with the plugin {ours:6.2f} s, ratio {ours / plain:.3f}",
            flush=True,
        )
    ratios = [ours / plain for plain, ours in pairs]
    least_plain, least_ours = (min(times) for times in zip(*pairs, strict=True))
    print(f"\nratios of the pairs: median {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}")
    print(f"least {least_plain:.2f} s and {least_ours:.2f} s: ratio {least_ours / least_plain:.3f}, budget {BUDGET}")
    return 0 if least_ours / least_plain <= BUDGET else 1


if __name__ == "__main__":
    sys.exit(main())
