"""Findings of every kind, in a file and by rules that stay as they are, and what a format makes of them."""

from __future__ import annotations

import io
import json
import os
from typing import Any

import jaxlint.report.sarif
import jaxlint.rules
from jaxlint.finding import Applicability, Confidence, Edit, Finding, Fix, Severity
from jaxlint.report import FORMATS, writer
from jaxlint.report.base import Report
from jaxlint.rules.base import Rule

RULES = jaxlint.rules.all_rules()

SOURCE = """\
from flax import struct


@struct.dataclass
class Größe:
    x: int = 0


def scale(größe, faktor):
    größe.x = (
        faktor
    )
    größe.x = 1
    größe.x  = 1
    return größe
"""


class FrozenAssignment(Rule):
    """## What it does

    Finds assignments to attributes
    of frozen instances. More is said here.

    ## Why is this bad?

    They raise
    at run time.

    Another paragraph.

    ## References

    None.
    """

    code, name, group, since = "JAX401", "frozen-assignment", "updates", "0.1.0"


class StaleState(Rule):
    """## What it does

    Finds updates that are lost.
    """

    code, name, group, since = "JAX407", "returned-old-state", "updates", "0.2.0"
    severity, confidence, enabled, preview = Severity.WARNING, Confidence.LOW, False, True


class Unused(Rule):
    """## What it does

    Finds nothing.
    """

    code, name, group, since = "JAX999", "unused", "updates", "0.2.0"


def finding(path: str, *place: int, rule: type[Rule] = FrozenAssignment, message: str = "", **others: Any) -> Finding:
    """What a rule says of a place of a file in the current folder."""
    row, column, end_row, end_column = place
    given = {"severity": rule.severity, "confidence": rule.confidence, **others}
    where = os.path.normpath(os.path.join(os.getcwd(), path))
    return Finding(where, row, column, end_row, end_column, rule.code, rule.name, message, **given)


def findings() -> list[Finding]:
    """Of every kind one: long and short ranges, equal lines, odd names and texts, a fix, an unreadable file."""
    frozen = "`Größe` is frozen: assigning `größe.x` raises FrozenInstanceError; use `größe = größe.replace(x=...)`"
    at = SOURCE.index("x = 1")
    fix = Fix("Update with `replace`", Applicability.SAFE, (Edit(at, at + 1, "y"), Edit(0, 0, "import a\n")))
    return [
        finding("../elsewhere/b.py", 1, 1, 1, 1, message="cannot be read: \x1b[2J<&>\nnext"),
        finding("pkg/100%, a:b é.py", 7, 2, 7, 3, rule=StaleState, message="50% off, see: x", severity=Severity.INFO),
        finding("pkg/train.py", 10, 5, 12, 6, message=frozen, reason="the class is frozen", help="write\r\nit so"),
        finding("pkg/train.py", 13, 5, 13, 12, message=frozen, fix=fix),
        finding("pkg/train.py", 14, 5, 14, 12, message="did you mean `größe`?"),
        finding("pkg/train.py", 15, 5, 15, 17, rule=StaleState, message="the old state is returned"),
    ]


def written(format_: str, report: Report | None = None, table: dict[str, str] = FORMATS) -> str:
    """What a format makes of a report."""
    stream = io.StringIO()
    writer(table, format_)(report or Report(findings(), summary=True), stream)
    return stream.getvalue()


def results(text: str) -> list[dict[str, Any]]:
    """The results of a log in SARIF."""
    found = json.loads(text)["runs"][0]["results"]
    assert isinstance(found, list)
    return found


def location_of(result: dict[str, Any]) -> dict[str, Any]:
    """The place of one of them."""
    (location,) = result["locations"]
    found = location["physicalLocation"]
    assert isinstance(found, dict)
    return found


def as_dict(one: Finding) -> dict[str, Any]:
    """What a finding is made of."""
    return {name: getattr(one, name) for name in one.__struct_fields__}
