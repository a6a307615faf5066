"""What was said of sources that a version met for the first time, as the README here lists it by confidence."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

README = Path(__file__).with_name("README.md")
#: A row of the table: which batches, sources, version, and true / debatable / false of either confidence.
_ROW = re.compile(r"^\| (\d[\d to]*) \| .* \| (\d+/\d+/\d+) \| (\d+/\d+/\d+) \|$", re.MULTILINE)


class Batch(NamedTuple):
    """A batch, or several that one version met, and how many findings of a confidence have each verdict."""

    name: str
    counts: dict[str, Counter[str]]


def first_met(path: Path = README) -> list[Batch]:
    """The batches in their order. Raises OSError if there is no such file."""
    rows = _ROW.findall(path.read_text(encoding="utf-8"))
    return [Batch(name, {"high": _counts(high), "medium": _counts(medium)}) for name, high, medium in rows]


def _counts(written: str) -> Counter[str]:
    true, debatable, false = map(int, written.split("/"))
    return Counter(TRUE=true, DEBATABLE=debatable, FALSE=false)
