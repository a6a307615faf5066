"""What a run found, as it is reported: without what comments and baselines hide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from jaxlint.config.settings import EnabledRules, Settings, is_sure_enough
from jaxlint.finding import Confidence, Finding

if TYPE_CHECKING:
    from jaxlint.suppression.baseline import Entry, Stale


class Result(msgspec.Struct):
    """What a run found. `errors` are internal errors, one line each.

    `suppressed` are the findings that comments hide, `stale` the entries of baselines that nothing stands behind;
    `checked` are the files with the settings that they were checked with.
    """

    findings: list[Finding]
    files: int
    errors: list[str]
    suppressed: list[Finding] = []
    stale: list[Stale] = []
    checked: list[tuple[Settings, tuple[str, ...]]] = []


def add_found(
    result: Result,
    found: list[Finding],
    settings: Settings,
    files: Sequence[str],
    errors: Sequence[str],
    lines: Callable[[str], Sequence[str]] | None = None,
    known: Sequence[Entry] | None = None,
) -> None:
    """Add what was found in some of the files, and what failed: by comments, the baseline and confidence.

    `lines` gives the lines of a file that are not those on disk, `known` the entries of the baseline if it was read.
    """
    findings = ordered(found)
    result.suppressed += [f for f in findings if f.suppressed]
    findings = [f for f in findings if not f.suppressed]
    result.checked.append((settings, tuple(files)))
    if settings.baseline is not None:
        from jaxlint.suppression.baseline import read_baseline, without_known
        from jaxlint.suppression.fingerprint import file_lines

        checked = {} if errors else codes_checked([(settings, files)])
        entries = read_baseline(settings.baseline) if known is None else known
        findings, stale = without_known(settings.baseline, entries, findings, checked, lines or file_lines)
        result.stale += stale
    result.findings += [f for f in findings if is_sure_enough(f.confidence, settings)]
    result.errors += errors


def codes_checked(checked: Iterable[tuple[Settings, Sequence[str]]]) -> dict[str, frozenset[str]]:
    """For each file the codes of the rules that ran."""
    from jaxlint.rules.plugins import rules_with

    codes: dict[str, frozenset[str]] = {}
    for settings, files in checked:
        enabled = EnabledRules(rules_with(settings.plugins), settings)
        codes |= {path: enabled.codes_at(path) for path in files}
    return codes


def ordered(findings: list[Finding]) -> list[Finding]:
    """Findings in the order of their report, one of each thing at a place.

    Guesses are left out where the same thing is known for certain.
    """
    certain = {(f.code, f.subject) for f in findings if f.subject and f.confidence is not Confidence.LOW}
    known = {_place(f) for f in findings if f.confidence is Confidence.HIGH}
    shown = [
        f
        for f in findings
        if f.confidence is Confidence.HIGH
        or (_place(f) not in known and (f.confidence is not Confidence.LOW or (f.code, f.subject) not in certain))
    ]
    shown.sort(key=lambda f: f.sort_key)
    surest_last = sorted(reversed(shown), key=lambda f: f.confidence is not Confidence.LOW)
    first = {(_place(f), _about(f)): f for f in surest_last}
    return [f for f in shown if not _about(f) or first[_place(f), _about(f)] is f]


def _about(finding: Finding) -> str:
    """What a finding is about, or what it advises: no place gets the same advice twice."""
    return finding.subject or finding.help


def _place(finding: Finding) -> tuple[str, str, int, int]:
    """What is found, and where; a function that is read once for each caller may be blamed for more by one of them."""
    return finding.code, finding.path, finding.row, finding.column
