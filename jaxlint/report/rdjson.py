"""The `rdjson` format of reviewdog, which makes GitHub's (and GitLab's) suggestions of fixes.

Its columns count from 1 in bytes of UTF-8.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TextIO

from jaxlint.finding import DOCS_URL, Edit, Finding, Severity
from jaxlint.report.base import Report, message, repository_path, url
from jaxlint.syntax.source import Source, Unreadable

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}
#: Edits that are this many rows apart are one suggestion, which is accepted as a whole.
_ROWS = 10


def write(report: Report, stream: TextIO) -> None:
    """Write one object with all findings; `suggestions` are the edits of their fixes."""
    read = lru_cache(maxsize=1)(report.read)
    source = {"name": "jaxlint", "url": f"{DOCS_URL.rpartition('/')[0]}/"}
    diagnostics = [_diagnostic(finding, read) for finding in report.findings]
    stream.write(json.dumps({"source": source, "diagnostics": diagnostics}, indent=2) + "\n")


def _diagnostic(finding: Finding, read: Callable[[str], Source]) -> dict[str, Any]:
    location: dict[str, Any] = {"path": repository_path(finding.path)}
    suggestions: list[dict[str, Any]] = []
    try:
        source = read(finding.path)
    except Unreadable:
        start, end = {"line": finding.row}, {"line": finding.end_row}
    else:
        start = _position(source, finding.row, finding.column - 1)
        end = _position(source, finding.end_row, finding.end_column - 1)
        if finding.fix is not None:
            suggestions += _suggestions(finding.fix.edits, source)
    location["range"] = {"start": start, "end": end}
    return {
        "message": message(finding),
        "location": location,
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code, **({"url": url(finding)} if url(finding) else {})},
        "suggestions": suggestions,
    }


def _suggestions(edits: Sequence[Edit], source: Source) -> Iterator[dict[str, Any]]:
    """The edits of a fix; those that stand near each other are one, with the text between them."""
    together: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: edit.start):
        if together and source.place(edit.start)[0] - source.place(together[-1].end)[0] > _ROWS:
            yield _suggestion(together, source)
            together = []
        together.append(edit)
    if together:
        yield _suggestion(together, source)


def _suggestion(edits: Sequence[Edit], source: Source) -> dict[str, Any]:
    text, at = "", edits[0].start
    for edit in edits:
        text += source.text[at : edit.start] + edit.text
        at = edit.end
    start, end = (_position(source, *source.place(offset)) for offset in (edits[0].start, at))
    return {"range": {"start": start, "end": end}, "text": text}


def _position(source: Source, row: int, column: int) -> dict[str, int]:
    return {"line": row, "column": len(source.line(row)[:column].encode()) + 1}
