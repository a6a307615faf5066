"""Prints the catalogue as a table: each rule with its fixtures, the frameworks they run in, and verdicts of the wild.

`python -m tools.catalogue`. The verdicts are all that were ever written down: what was FALSE is mostly mended since,
and what was judged a MISS counts as true. `python -m tools.ecosystem judge` tells how many are found today.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from jaxlint.rules import all_rules
from tests.oracle.cases import programs
from tools.ecosystem.ledger import read_ledger

_HEADINGS = ("code", "name", "on", "bad", "good", "programs run", "frameworks", "true", "debatable", "false")


def rows() -> list[tuple[str, ...]]:
    """One row for each rule with fixtures, sorted by code."""
    cases: dict[str, set[str]] = defaultdict(set)
    frameworks: dict[str, set[str]] = defaultdict(set)
    run: Counter[str] = Counter()
    for program in programs():
        cases[program.source.rule].add(program.source.name)
        frameworks[program.source.rule].add(program.framework)
        run[program.source.rule] += 1
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for place, verdict in read_ledger().items():
        verdicts[place.code]["TRUE" if verdict == "MISS" else verdict] += 1
    found = []
    for rule in sorted(all_rules(), key=lambda rule: rule.code):
        names = cases.get(rule.name, set())
        good = sum(name.startswith("good_") for name in names)
        judged = verdicts[rule.code]
        numbers = (len(names) - good, good, run[rule.name], len(frameworks[rule.name]))
        wild = (judged["TRUE"], judged["DEBATABLE"], judged["FALSE"])
        found.append((rule.code, rule.name, "on" if rule.enabled else "off", *map(str, (*numbers, *wild))))
    return found


def table() -> str:
    """The catalogue in Markdown."""
    lines = ["| " + " | ".join(_HEADINGS) + " |", "|" + "---|" * len(_HEADINGS)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows())])


if __name__ == "__main__":
    print(table())
