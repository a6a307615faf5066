"""What a cold check costs, in parses: jaxlint over 20 packages against `libcst.parse_module` over the same files.

    python benchmarks/cold.py [--repeat 5]

Each measurement is the CPU time of a process of its own, from the start of Python to its end; the two kinds take
turns. The packages are downloaded once into `.benchmarks/`.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
import zipfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".benchmarks"
PACKAGES = {
    "brax": "0.14.2",
    "chex": "0.1.92",
    "craftax": "1.6.1",
    "diffrax": "0.7.2",
    "distrax": "0.1.9",
    "dynamiqs": "0.3.7",
    "equinox": "0.13.8",
    "evosax": "0.3.2",
    "flashbax": "0.1.3",
    "flax": "0.12.8",
    "gymnax": "1.0.1",
    "jax_dataclasses": "1.6.3",
    "jumanji": "1.1.2",
    "kfac_jax": "0.0.8",
    "levanter": "1.1",
    "mujoco_mjx": "3.17.0",
    "penzai": "0.2.5",
    "pgx": "2.6.0",
    "rlax": "0.1.9",
    "xminigrid": "0.9.3",
}
BUDGET = 1.0
#: A bug of our own, to show that bugs are found.
PLANTED = "from brax.envs import State\n\n\ndef step(state: State):\n    state.reward = 1\n"


@dataclass(frozen=True)
class Measured:
    """What one process did: its CPU seconds, and counts by package."""

    seconds: float
    files: dict[str, int]
    lines: dict[str, int]
    findings: dict[str, int]
    errors: list[str]


def package_of(path: str, folder: Path) -> str:
    return Path(path).relative_to(folder).parts[0]


def measure_libcst(folder: Path) -> Measured:
    """Parse every file; without garbage collection, as in jaxlint."""
    import libcst

    gc.disable()
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    errors = []
    for path in sorted(folder.rglob("*.py")):
        source = path.read_bytes()
        files[package_of(str(path), folder)] += 1
        lines[package_of(str(path), folder)] += source.count(b"\n")
        try:
            libcst.parse_module(source)
        except libcst.ParserSyntaxError as error:
            errors.append(f"{path}: {error.message}")
    return Measured(time.process_time(), dict(files), dict(lines), {}, errors)


def measure_jaxlint(folder: Path) -> Measured:
    """Check everything in this process, with every rule that is on by default."""
    sys.path.insert(0, str(ROOT))
    from jaxlint import check_paths

    result = check_paths([str(path) for path in sorted(folder.iterdir())])
    findings = Counter(package_of(finding.path, folder) for finding in result.findings)
    return Measured(time.process_time(), {"": result.files}, {}, dict(findings), result.errors)


MEASUREMENTS = {"libcst": measure_libcst, "jaxlint": measure_jaxlint}


def download(wheels: Path) -> None:
    """Get the wheels, for one Python version whichever runs, so that all machines measure the same files."""
    wanted = [f"{name}=={version}" for name, version in PACKAGES.items()]
    options = ["--quiet", "--no-deps", "--only-binary=:all:", "--python-version=3.12", f"--dest={wheels}"]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, *wanted], check=True)


def unpack(wheels: Path, folder: Path) -> None:
    """The sources of every package in a folder of its own, a project of its own."""
    for name, version in PACKAGES.items():
        target = folder / name
        if (target / "pyproject.toml").exists():
            continue
        (wheel,) = wheels.glob(f"{name}-{version}-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target, [n for n in archive.namelist() if n.endswith(".py")])
        (target / "pyproject.toml").touch()
    planted = folder / "planted"
    planted.mkdir(exist_ok=True)
    (planted / "pyproject.toml").touch()
    (planted / "planted.py").write_text(PLANTED)


def measure(kind: str, folder: Path) -> Measured:
    command = [sys.executable, __file__, "--measure", kind, "--folder", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Measured(**json.loads(done.stdout))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5, help="how often each is measured (default: 5)")
    parser.add_argument("--wheels", type=Path, help="a folder that holds the wheels already")
    parser.add_argument("--measure", choices=MEASUREMENTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=CACHE / "packages", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(asdict(MEASUREMENTS[options.measure](options.folder))))
        return 0

    wheels = options.wheels or CACHE / "wheels"
    if any(not list(wheels.glob(f"{name}-{version}-*.whl")) for name, version in PACKAGES.items()):
        download(wheels)
    unpack(wheels, options.folder)

    runs: list[tuple[Measured, Measured]] = []
    for number in range(options.repeat):
        parsed, checked = measure("libcst", options.folder), measure("jaxlint", options.folder)
        runs.append((parsed, checked))
        ratio = checked.seconds / parsed.seconds
        print(f"run {number + 1}: libcst {parsed.seconds:6.2f} s, jaxlint {checked.seconds:6.2f} s, ratio {ratio:.3f}")
    report(runs)
    ratios = [checked.seconds / parsed.seconds for parsed, checked in runs]
    return 0 if statistics.median(ratios) <= BUDGET else 1


def report(runs: list[tuple[Measured, Measured]]) -> None:
    parsed, checked = runs[-1]
    assert not checked.errors, checked.errors
    assert not parsed.errors, parsed.errors
    assert sum(checked.files.values()) == sum(parsed.files.values()), (checked.files, parsed.files)
    assert checked.findings["planted"] == 1, checked.findings
    assert all(other.findings == checked.findings for _, other in runs)
    print(f"\n{'package':24}{'files':>7}{'lines':>9}{'findings':>10}")
    for name, version in {**PACKAGES, "planted": ""}.items():
        found = checked.findings.get(name, 0)
        print(f"{name + ' ' + version:24}{parsed.files[name]:7}{parsed.lines[name]:9}{found:10}")
    totals = (sum(parsed.files.values()), sum(parsed.lines.values()), sum(checked.findings.values()))
    print(f"{'total':24}{totals[0]:7}{totals[1]:9}{totals[2]:10}")
    ratios = sorted(checked.seconds / parsed.seconds for parsed, checked in runs)
    low, high = ratios[0], ratios[-1]
    print(f"\njaxlint / libcst.parse_module: median {statistics.median(ratios):.3f}, from {low:.3f} to {high:.3f}")


if __name__ == "__main__":
    sys.exit(main())
