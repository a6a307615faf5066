"""How the programs on rule pages are mended: by jaxlint's fixes, or by somebody who follows its advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from jaxlint.config.settings import Settings
from jaxlint.config.versions import normalised
from jaxlint.finding import Confidence, Finding
from jaxlint.fixes.names import lost_names
from jaxlint.fixes.running import fix_source
from jaxlint.linter.engine import check_source
from jaxlint.pytrees.versions import version
from jaxlint.rules import all_rules
from tests.fixes.by_hand import APPLIED
from tests.oracle.cases import Program
from tests.oracle.versions import target_versions
from tools.site.program_text import program_text

NAME = "main.py"


class Mending(msgspec.Struct, frozen=True):
    """A program after what is found in it was mended, and how it is called then; or what is advised."""

    after: str | None
    by_hand: bool = False
    #: Whether safe fixes alone mend it.
    safe: bool = False
    calls: Mapping[str, str] = {}
    advice: Sequence[str] = ()

    def call(self, expression: str) -> str:
        """How the program is called where it was called so."""
        return self.calls.get(expression, expression)


def mending(program: Program, versions: Mapping[str, str]) -> Mending:
    """How a program is mended with some versions: nothing is found in it afterwards."""
    settings = _settings(program, versions)
    before = program_text(program, marked=False)
    for unsafe in (False, True):
        after, left = fix_source(before, NAME, settings, unsafe=unsafe)
        if not left and after != before:
            return Mending(after, safe=not unsafe)
    return _by_hand(program, settings) or Mending(None, advice=_advice(left or check_source(before, NAME, settings)))


def _settings(program: Program, versions: Mapping[str, str]) -> Settings:
    return Settings(
        select=tuple(rule.code for rule in all_rules() if rule.enabled or rule.name == program.rule),
        min_confidence=Confidence.LOW if program.confidence == "low" else Confidence.MEDIUM,
        target_versions=target_versions({normalised(name): version(text) for name, text in versions.items()}),
    )


def _by_hand(program: Program, settings: Settings) -> Mending | None:
    """What was written for it in one framework, if that stands in this one as well, and mends it."""
    for one in APPLIED:
        if one.program.rpartition("/")[0] != f"{program.rule}/{program.case}":
            continue
        text = program.files[NAME]
        for old, new in one.write:
            if text.count(old) != 1:
                break
            text = text.replace(old, new)
        else:
            after = program_text(program, marked=False, text=text)
            if not lost_names(program_text(program, marked=False), after) and not check_source(after, NAME, settings):
                return Mending(after, by_hand=True, calls=one.calls)
    return None


def _advice(found: Sequence[Finding]) -> tuple[str, ...]:
    """What findings advise, once each."""
    return tuple(dict.fromkeys(finding.help for finding in found if finding.help))
