"""The `json` format, a list of objects with the keys that ruff uses and a few of our own, and `json-lines`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, TextIO

from jaxlint.finding import Finding, Fix
from jaxlint.report.base import Report, url
from jaxlint.syntax.source import Source, Unreadable


def write(report: Report, stream: TextIO) -> None:
    """Write the findings as one JSON document in ASCII; `[]` if there are none.

    Rows and columns count from 1, columns in code points; `end_location` is exclusive. `fix` is
    null if there is none or the file can no longer be read.
    """
    write_list(_objects(report), stream)


def write_lines(report: Report, stream: TextIO) -> None:
    """Write one object per finding and line."""
    write_rows(_objects(report), stream)


def write_list(objects: Iterable[dict[str, Any]], stream: TextIO) -> None:
    """Write one JSON document."""
    stream.write(json.dumps(list(objects), indent=2) + "\n")


def write_rows(objects: Iterable[dict[str, Any]], stream: TextIO) -> None:
    """Write one object per line."""
    for one in objects:
        stream.write(json.dumps(one) + "\n")


def _objects(report: Report) -> Iterator[dict[str, Any]]:
    read = lru_cache(maxsize=1)(report.read)
    for finding in report.findings:
        yield _object(finding, _fix(finding.fix, finding.path, read))


def _object(finding: Finding, fix: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "cell": None,
        "noqa_row": finding.row,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "filename": finding.path,
        "location": {"row": finding.row, "column": finding.column},
        "end_location": {"row": finding.end_row, "column": finding.end_column},
        "url": url(finding) or None,
        "fix": fix,
        "reason": finding.reason,
        "help": finding.help,
    }


def _fix(fix: Fix | None, path: str, read: Callable[[str], Source]) -> dict[str, Any] | None:
    if fix is None:
        return None
    try:
        source = read(path)
    except Unreadable:
        return None
    return {
        "applicability": fix.applicability.value,
        "message": fix.title,
        "edits": [
            {
                "content": edit.text,
                "location": _location(source, edit.start),
                "end_location": _location(source, edit.end),
            }
            for edit in fix.edits
        ],
    }


def _location(source: Source, offset: int) -> dict[str, int]:
    row, column = source.place(offset)
    return {"row": row, "column": column + 1}
