"""The `grouped` format: the findings of each file under its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from jaxlint.report.base import Report, by_file
from jaxlint.report.text import Line, clean, headline, write_lines
from jaxlint.syntax.paths import shown_path


def write(report: Report, stream: TextIO) -> None:
    """Write the name of each file, its findings indented below, and an empty line."""
    write_lines(_lines(report), report, stream)


def _lines(report: Report) -> Iterator[Line]:
    for path, findings in by_file(report.findings).items():
        yield [(f"{clean(shown_path(path))}:", "bold")]
        places = [f"{finding.row}:{finding.column}" for finding in findings]
        width = max(map(len, places))
        for place, finding in zip(places, findings, strict=True):
            yield [(f"  {place:<{width}} ", ""), *headline(finding, report)]
        yield []
