"""How many findings each rule has, as a table or as JSON with the keys that ruff uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, TextIO

from jaxlint.finding import Finding
from jaxlint.report.base import Report
from jaxlint.report.json import write_list, write_rows
from jaxlint.report.text import STYLES, Line, write_lines


def write(report: Report, stream: TextIO) -> None:
    """Write one line per rule, the most frequent first: the count, the code and the name, with tabs between."""
    write_lines(_lines(report), report, stream)


def write_json(report: Report, stream: TextIO) -> None:
    """Write a list of objects, one per rule."""
    write_list(_objects(report), stream)


def write_json_lines(report: Report, stream: TextIO) -> None:
    """Write one object per rule and line."""
    write_rows(_objects(report), stream)


def _lines(report: Report) -> Iterator[Line]:
    counted = _counted(report)
    width = max((len(str(count)) for _, count in counted), default=0)
    for finding, count in counted:
        code = (finding.code, STYLES[finding.severity])
        yield [(f"{count:>{width}}\t", "bold"), code, (f"\t{finding.name}", "")]


def _objects(report: Report) -> Iterator[dict[str, Any]]:
    fixable = Counter(f.code for f in report.findings if report.is_fixable(f))
    for finding, count in _counted(report):
        yield {
            "code": finding.code,
            "name": finding.name,
            "count": count,
            "fixable": fixable[finding.code] > 0,
            "fixable_count": fixable[finding.code],
        }


def _counted(report: Report) -> list[tuple[Finding, int]]:
    """A finding of each rule and how many there are, the most first."""
    examples = {finding.code: finding for finding in report.findings}
    counts = Counter(finding.code for finding in report.findings)
    return [(examples[code], count) for code, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
