"""What the mypy plugin costs: mypy over brax from an empty cache, with and without it, in pairs.

    python benchmarks/mypy.py [--repeat 5]

Each measurement is the CPU time of a process of its own. brax is downloaded once into `.benchmarks/`; jax, flax and
numpy are those of the environment that runs this.
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


def measure(folder: Path, plugin: bool) -> tuple[float, str]:
    """The CPU seconds of mypy over brax, and what it prints."""
    with tempfile.TemporaryDirectory() as cache:
        config = Path(cache) / "mypy.ini"
        config.write_text(CONFIG + ("plugins = jaxlint_mypy\n" if plugin else ""))
        command = [sys.executable, "-m", "mypy", f"--config-file={config}", f"--cache-dir={cache}/c", "-p", "brax"]
        path = os.pathsep.join([str(ROOT), str(ROOT / "plugins")])
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command, cwd=folder, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
        )
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
    ratios = []
    for number in range(options.repeat):
        order = (False, True) if number % 2 == 0 else (True, False)
        found = {plugin: measure(options.folder, plugin) for plugin in order}
        (plain, text), (ours, ours_text) = found[False], found[True]
        assert len(_NO_REPLACE.findall(ours_text)) < len(_NO_REPLACE.findall(text))
        ratios.append(ours / plain)
        print(
            f"run {number + 1}: mypy {plain:6.2f} s, with the plugin {ours:6.2f} s, ratio {ratios[-1]:.3f}", flush=True
        )
    print(f"\nmedian {statistics.median(ratios):.3f}, from {min(ratios):.3f} to {max(ratios):.3f}")
    return 0 if statistics.median(ratios) <= BUDGET else 1


if __name__ == "__main__":
    sys.exit(main())
