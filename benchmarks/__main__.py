"""All that jaxlint promises of its speed, measured in one run.

    python -m benchmarks [--repeat 5] [--only ROW ...] [--peers] [--plot FILE] [--profile]

Prints a table of ratios, with the least and the greatest beside the median, and what each may be at most; ends with 1
if one is more. `--peers` compares with other tools, `--plot` draws time and memory against the number of lines, and
`--profile` says where the time of a cold run goes instead. What is measured is compiled, as if installed.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.common import CACHE, ROOT, compile_jaxlint
from benchmarks.rows import ROWS, Bench, Row


def table(rows: list[Row]) -> None:
    """Print what was measured against what was promised."""
    print(f"\n{'what':58}{'measured':>26}{'at most':>10}")
    for row in rows:
        holds = "holds" if row.holds else "BROKEN"
        print(f"{row.what:58}{row.shown:>26}{row.bound:>10g}  {holds}")


def profile(bench: Bench) -> None:
    """Say where the time of a cold run goes."""
    target = CACHE / "profile.pstats"
    # the script ends without a word to the profiler
    program = [sys.executable, "-c", "import cProfile, sys\nfrom jaxlint.cli.main import main\n"]
    program[-1] += "cProfile.run('main()', sys.argv.pop(1))"
    program += [str(target), *bench.CHECK, "-j1", "--no-cache", "."]
    print(f"{bench.twenty}: {bench.run(program, bench.twenty).cpu:.1f} s with the profiler")
    import pstats

    pstats.Stats(str(target)).sort_stats("tottime").print_stats(30)
    print(f"the whole profile is in {target.relative_to(ROOT)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="how often each is measured (default: 5)")
    parser.add_argument("--only", nargs="+", choices=list(ROWS), help="measure these rows only")
    parser.add_argument("--peers", action="store_true", help="measure other tools on one package too")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw time and memory against size (PNG)")
    parser.add_argument("--profile", action="store_true", help="profile a cold run, and measure nothing")
    options = parser.parse_args()
    compile_jaxlint()
    bench = Bench(options.repeat)
    if options.profile:
        profile(bench)
        return 0
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg()[0]
    print(f"Python {sys.version.split()[0]}, {cpus} CPUs, load {load:.1f} at the start", flush=True)
    if load > 0.5:
        print("the machine is not quiet: do not trust wall times")
    rows: list[Row] = []
    for name in options.only or ROWS:
        for row in ROWS[name](bench):
            rows.append(row)
            print(f"  {row.what}: {row.shown}", flush=True)
    table(rows)
    if options.peers:
        from benchmarks.peers import compare

        compare(bench)
    if options.plot:
        from benchmarks.plot import draw

        draw(bench, options.plot)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
