"""The `sarif` format: a SARIF 2.1.0 log, as code scanning and editors read it."""

from __future__ import annotations

import json
import os
import urllib.parse
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TextIO

from jaxlint.cache.version import __version__
from jaxlint.finding import DOCS_URL, Finding, Fix, Severity
from jaxlint.report.base import Report, checkout, message, notes, repository_path
from jaxlint.rules.base import Rule
from jaxlint.rules.plugins import known_rules
from jaxlint.suppression.fingerprint import file_lines, fingerprints
from jaxlint.syntax.source import Source, Unreadable

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
#: How GitHub's code scanning calls the severities of what is no security problem.
_PROBLEMS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}
#: `primaryLocationLineHash` is left to GitHub: it warns of each value that it has not computed itself.
_FINGERPRINT = "jaxlintFingerprint/v1"


def write(report: Report, stream: TextIO) -> None:
    """Write a log with one run: the rules that found something, and their findings as results."""
    stream.write(json.dumps(_log(report), indent=2) + "\n")


def _log(report: Report) -> dict[str, Any]:
    found = {finding.code for finding in report.findings}
    used = [rule for rule in known_rules() if rule.code in found]
    driver = {
        "name": "jaxlint",
        "version": __version__,
        "semanticVersion": __version__,
        "informationUri": f"{DOCS_URL.rpartition('/')[0]}/",
        "rules": [_rule(rule) for rule in used],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(report.errors)],
        "columnKind": "unicodeCodePoints",
        "results": _results(report, [rule.code for rule in used]),
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: type[Rule]) -> dict[str, Any]:
    page = rule.page()
    summary = _sentence(rule.summary())
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": summary},
        "fullDescription": {"text": f"{summary} {_first_paragraph(page, 'Why is this bad?')}".strip()},
        "help": {"text": page, "markdown": page},
        **({"helpUri": rule.url()} if rule.url() else {}),
        "defaultConfiguration": {"level": _LEVELS[rule.severity], "enabled": rule.enabled},
        "properties": {
            "tags": [rule.group],
            "precision": rule.confidence.value,
            "problem.severity": _PROBLEMS[rule.severity],
        },
    }


def _first_paragraph(page: str, heading: str) -> str:
    """The first paragraph below a heading of a rule's page, on one line."""
    section = f"{page}\n## ".partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return " ".join(section.strip().partition("\n\n")[0].split())


def _sentence(text: str) -> str:
    """`text` with a final stop."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _invocation(errors: Sequence[str]) -> dict[str, Any]:
    """Whether jaxlint itself did its work, and what went wrong."""
    if not errors:
        return {"executionSuccessful": True}
    notifications = [{"level": "error", "message": {"text": error}} for error in errors]
    return {"executionSuccessful": False, "toolExecutionNotifications": notifications}


def _results(report: Report, codes: Sequence[str]) -> list[dict[str, Any]]:
    read = lru_cache(maxsize=1)(report.read)
    digests = fingerprints(report.findings, partial(file_lines, read=read), checkout())
    results = []
    for finding, digest in zip(report.findings, digests, strict=True):
        result = {
            "ruleId": finding.code,
            "ruleIndex": codes.index(finding.code),
            "level": _LEVELS[finding.severity],
            "message": {"text": _text(finding)},
            "locations": [{"physicalLocation": _location(finding)}],
            "partialFingerprints": {_FINGERPRINT: digest},
            "properties": {"confidence": finding.confidence.value},
        }
        if fix := _fix(finding.fix, finding.path, read):
            result["fixes"] = [fix]
        results.append(result)
    return results


def _text(finding: Finding) -> str:
    """The message as a sentence, which is all that is shown where there is little room, and the notes behind it."""
    rest = [f"{title.capitalize()}: {_sentence(text)}" for title, text in notes(finding) if title != "see"]
    return "\n".join([_sentence(message(finding)), *rest])


def _location(finding: Finding) -> dict[str, Any]:
    return {
        "artifactLocation": _artifact(finding.path),
        "region": _region(finding.row, finding.column, finding.end_row, finding.end_column),
    }


def _artifact(path: str) -> dict[str, str]:
    """The address of a file: relative to the root of the repository if it lies below it."""
    shown = repository_path(path)
    if os.path.isabs(shown):
        return {"uri": Path(path).as_uri()}
    return {"uri": urllib.parse.quote(os.fsencode(shown)), "uriBaseId": "%SRCROOT%"}


def _region(row: int, column: int, end_row: int, end_column: int) -> dict[str, int]:
    return {"startLine": row, "startColumn": column, "endLine": end_row, "endColumn": end_column}


def _fix(fix: Fix | None, path: str, read: Callable[[str], Source]) -> dict[str, Any] | None:
    if fix is None:
        return None
    try:
        source = read(path)
    except Unreadable:
        return None
    replacements = []
    for edit in fix.edits:
        (row, column), (end_row, end_column) = source.place(edit.start), source.place(edit.end)
        region = _region(row, column + 1, end_row, end_column + 1)
        replacements.append({"deletedRegion": region, "insertedContent": {"text": edit.text}})
    return {
        "description": {"text": _sentence(fix.title)},
        "artifactChanges": [{"artifactLocation": _artifact(path), "replacements": replacements}],
    }
