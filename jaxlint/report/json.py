"""The `json` format: a list of objects with the keys that ruff uses, and a few of our own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from jaxlint.finding import Finding, Fix
from jaxlint.rules.base import DOCS_URL
from jaxlint.source import Source, Unreadable


def render(findings: Iterable[Finding]) -> str:
    """The findings as a JSON document in ASCII, without a final newline; `[]` if there are none.

    Rows and columns count from 1, columns in code points; `end_location` is exclusive. `fix` is
    null if there is none or the file can no longer be read.
    """
    read = lru_cache(maxsize=1)(Source.read)
    objects = [_object(finding, _fix(finding.fix, finding.path, read)) for finding in findings]
    return json.dumps(objects, indent=2)


def _object(finding: Finding, fix: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "filename": finding.path,
        "location": {"row": finding.row, "column": finding.column},
        "end_location": {"row": finding.end_row, "column": finding.end_column},
        "url": f"{DOCS_URL}/{finding.name}/",
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
