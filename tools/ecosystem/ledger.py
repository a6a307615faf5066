"""The ledger: what was said of each finding by somebody who read the code.

A row has the source (a package, or `owner+name` of a repository), file, line, code, verdict and reason. TRUE: the
consequence happens when the code is used as meant. FALSE: it does not. DEBATABLE: it does, and harms nobody, or is
meant. MISS: a bug that was not reported when it was judged.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

LEDGER = Path(__file__).with_name("ledger.tsv")
UNJUDGED = "UNJUDGED"
#: The share of TRUE among all, and among TRUE and FALSE, that each confidence promises (shared design).
PROMISED = {"high": 0.98, "medium": 0.85}


class Place(NamedTuple):
    """Where a finding stands, and of which rule it is."""

    source: str
    path: str
    row: int
    code: str


class Found(NamedTuple):
    """A finding: its place, its confidence and its message."""

    place: Place
    confidence: str
    message: str


def read_ledger(path: Path = LEDGER) -> dict[Place, str]:
    """The verdicts by place. Raises OSError if there is no such file, ValueError for a row that is none."""
    verdicts: dict[Place, str] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for source, name, row, code, verdict, *_ in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            verdicts[Place(source, name, int(row), code)] = verdict
    return verdicts


class Judgement:
    """What the ledger says of findings: `verdicts` of the `found`, and what was TRUE and is not among them."""

    def __init__(self, found: Iterable[Found], ledger: Mapping[Place, str]) -> None:
        self.found = sorted(found)
        places = {one.place for one in self.found}
        sources = {one.place.source for one in self.found}
        self.verdicts = {one: "TRUE" if (v := ledger.get(one.place, UNJUDGED)) == "MISS" else v for one in self.found}
        self.lost = sorted(p for p, v in ledger.items() if v == "TRUE" and p.source in sources and p not in places)

    def tally(self, by: str) -> dict[str, Counter[str]]:
        """How many findings have each verdict, by `confidence` or by `code`."""
        counts: dict[str, Counter[str]] = {}
        for one, verdict in self.verdicts.items():
            key = one.confidence if by == "confidence" else one.place.code
            counts.setdefault(key, Counter())[verdict] += 1
        return counts

    @property
    def holds(self) -> bool:
        """Whether nothing FALSE and nothing unjudged is reported, and nothing TRUE is lost."""
        return not self.lost and not {"FALSE", UNJUDGED} & set(self.verdicts.values())


def precision(counts: Counter[str]) -> float:
    """TRUE / (TRUE + FALSE); 1 where there is neither."""
    judged = counts["TRUE"] + counts["FALSE"]
    return counts["TRUE"] / judged if judged else 1.0


def share(counts: Counter[str]) -> float:
    """TRUE / (TRUE + FALSE + DEBATABLE); 1 where there is none of these."""
    judged = counts["TRUE"] + counts["FALSE"] + counts["DEBATABLE"]
    return counts["TRUE"] / judged if judged else 1.0
