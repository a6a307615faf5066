"""Time and memory against the size of what is checked."""

from __future__ import annotations

import statistics
from pathlib import Path

from benchmarks.rows import Bench, packages_of

SIZES = (50_000, 100_000, 200_000, 400_000, 700_000, 1_000_000)


def draw(bench: Bench, target: Path) -> None:
    """Measure a cold run over more and more packages, and draw a picture of it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    points: list[tuple[int, float, float]] = []
    for size in SIZES:
        paths, lines = packages_of(bench.fifty, size)
        runs = [bench.check(bench.fifty, "-j1", "--no-cache", paths=paths) for _ in range(bench.repeat)]
        cpu, memory = (statistics.median(getattr(run, what) for run in runs) for what in ("cpu", "memory"))
        points.append((lines, cpu, memory))
        print(f"  {lines:9,} lines: {cpu:6.1f} s, {memory:6.0f} MB", flush=True)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
    thousands = [lines / 1000 for lines, _, _ in points]
    for axes, values, label in ((left, [p[1] for p in points], "CPU seconds"), (right, [p[2] for p in points], "MB")):
        axes.plot(thousands, values, marker="o")
        axes.set(xlabel="thousand lines", ylabel=label, xlim=(0, None), ylim=(0, None))
        axes.grid(alpha=0.3)
    figure.suptitle("jaxlint check, cold, one process")
    figure.tight_layout()
    figure.savefig(target, dpi=120)
    print(f"drawn in {target}")
