"""The `github` format: workflow commands that GitHub Actions turns into annotations."""

from __future__ import annotations

from typing import TextIO

from jaxlint.finding import Finding, Severity
from jaxlint.report.base import Report, headline, notes, repository_path

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}

#: What would end the text of a command, and what would end a property of it.
_TEXT = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _TEXT | str.maketrans({":": "%3A", ",": "%2C"})


def write(report: Report, stream: TextIO) -> None:
    """Write one workflow command per finding."""
    for finding in report.findings:
        stream.write(_command(finding) + "\n")


def _command(finding: Finding) -> str:
    properties: dict[str, str | int] = {
        "title": f"jaxlint {finding.code} ({finding.name})",
        "file": repository_path(finding.path),
        "line": finding.row,
        "endLine": finding.end_row,
    }
    if finding.row == finding.end_row:  # GitHub takes columns for a range in one line only
        properties |= {"col": finding.column, "endColumn": finding.end_column}
    head = ",".join(f"{key}={str(value).translate(_PROPERTY)}" for key, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {head}::{_text(finding).translate(_TEXT)}"


def _text(finding: Finding) -> str:
    return "\n".join([headline(finding), *(f"  {title}: {text}" for title, text in notes(finding))])
