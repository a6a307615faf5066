"""What the flake8 plugin costs: flake8 with it against flake8 without it, on a package with JAX and on one without.

    python benchmarks/flake8.py [--repeat 5]

Each measurement is the CPU time of one flake8 process (`-j 1`) over the whole package; the kinds take turns.
"cold" starts without a cache, "warm" finds that of the run before. flake8 without the plugin runs in an
environment of its own, of the same versions. The packages and that environment are kept in `.benchmarks/`.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".benchmarks"
#: A package, its pinned version, and what the plugin may cost there.
PACKAGES = {"brax": ("0.14.2", 1.3), "django": ("5.2.8", 1.05)}


def package(name: str, wanted: str) -> Path:
    """The unpacked wheel of a package."""
    folder = CACHE / "flake8" / name
    if not folder.is_dir():
        downloads = CACHE / "downloads"
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "-d",
            str(downloads),
            f"{name}=={wanted}",
        ]
        subprocess.run(command, check=True)
        (wheel,) = downloads.glob(f"{name}-{wanted}-*.whl")
        zipfile.ZipFile(wheel).extractall(folder)
    return folder


def plain_python() -> Path:
    """An interpreter with this flake8 and without jaxlint."""
    folder = CACHE / f"flake8-{version('flake8')}"
    if not folder.is_dir():
        venv.create(folder, with_pip=True)
        pinned = [f"{name}=={version(name)}" for name in ("flake8", "pycodestyle", "pyflakes", "mccabe")]
        subprocess.run([folder / "bin" / "pip", "install", "-q", *pinned], check=True)
    return folder / "bin" / "python"


def measure(python: Path, folder: Path) -> tuple[float, int]:
    """The CPU seconds of one run, and how many findings of jaxlint it had."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [python, "-m", "flake8", "--isolated", "-j", "1", "."], cwd=folder, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.stderr:
        raise SystemExit(done.stderr)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, sum(": JAX" in line for line in done.stdout.splitlines())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    plain = plain_python()
    missed = False
    print(f"{'package':<10}{'flake8 [s]':>12}{'cold':>8}{'warm':>8}{'allowed':>9}")
    for name, (wanted, allowed) in PACKAGES.items():
        folder = package(name, wanted)
        found: dict[str, list[float]] = {"plain": [], "cold": [], "warm": []}
        for _ in range(repeat):
            shutil.rmtree(CACHE / "results", ignore_errors=True)
            for kind, python in (("plain", plain), ("cold", Path(sys.executable)), ("warm", Path(sys.executable))):
                found[kind].append(measure(python, folder)[0])
        base = statistics.median(found["plain"])
        cold, warm = (
            statistics.median(a / b for a, b in zip(found[k], found["plain"], strict=True)) for k in ("cold", "warm")
        )
        print(f"{name:<10}{base:>12.1f}{cold:>8.2f}{warm:>8.2f}{allowed:>9.2f}")
        missed = missed or warm > allowed
    return 1 if missed else 0


if __name__ == "__main__":
    os.environ["JAXLINT_CACHE_DIR"] = str(CACHE / "results")
    sys.exit(main())
