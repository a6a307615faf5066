"""Findings as diagnostics."""

from __future__ import annotations

from hashlib import blake2b

from lsprotocol import types

from jaxlint.finding import Finding, Severity
from jaxlint.rules import rules_by_selector
from jaxlint_lsp.positions import Positions

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
#: The rules that find what is there for nothing.
_UNNECESSARY = frozenset({"JAX002"})


def diagnostic(finding: Finding, positions: Positions) -> types.Diagnostic:
    """A finding as a client shows it; the code leads to the page of the rule."""
    rule = rules_by_selector().get(finding.code)
    return types.Diagnostic(
        range=positions.range(finding),
        message=f"{finding.message}\n{finding.reason}" if finding.reason else finding.message,
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(rule.url()) if rule is not None and rule.url() else None,
        source="jaxlint",
        tags=[types.DiagnosticTag.Unnecessary] if finding.code in _UNNECESSARY else None,
    )


def result_id(diagnostics: list[types.Diagnostic]) -> str:
    """What is the same for the same diagnostics."""
    return blake2b(repr(diagnostics).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
