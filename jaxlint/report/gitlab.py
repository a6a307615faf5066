"""The `gitlab` format: a Code Quality report."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, TextIO

from jaxlint.finding import Finding, Severity
from jaxlint.report.base import Report, checkout, message, repository_path
from jaxlint.suppression.fingerprint import file_lines, fingerprints

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def write(report: Report, stream: TextIO) -> None:
    """Write a list of objects, one per finding."""
    digests = fingerprints(report.findings, partial(file_lines, read=report.read), checkout())
    objects = [_object(finding, digest) for finding, digest in zip(report.findings, digests, strict=True)]
    stream.write(json.dumps(objects, indent=2) + "\n")


def _object(finding: Finding, fingerprint: str) -> dict[str, Any]:
    return {
        "check_name": finding.code,
        "description": f"{finding.code}: {message(finding)}",
        "severity": _SEVERITIES[finding.severity],
        "fingerprint": fingerprint,
        "location": {
            "path": repository_path(finding.path),
            "positions": {
                "begin": {"line": finding.row, "column": finding.column},
                "end": {"line": finding.end_row, "column": finding.end_column},
            },
        },
    }
