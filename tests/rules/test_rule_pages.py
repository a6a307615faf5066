"""Every rule keeps the conventions: its identity, its page, its examples, its fixtures and its messages."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from jaxlint import check_source
from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence, Finding
from jaxlint.report import rules_table
from jaxlint.rules import all_rules, rules_by_selector
from jaxlint.rules.base import HEADINGS, BodyRule, ClassRule, EventRule, Rule, SuppressionRule
from tests.oracle import cases
from tests.oracle.cases import Program
from tests.oracle.linting import linted

ROOT = Path(__file__).resolve().parents[2]
RULES = all_rules()
ALL = Settings(select=("ALL",), preview=True, min_confidence=Confidence.LOW)
EACH = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
#: The rules that look at programs, and so have fixtures.
CHECKING = [rule for rule in RULES if rule.code != "JAX001"]
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`[^`]*`")
NEW_SENTENCE = re.compile(r"[.!?]\s+\S")


def section(rule: type[Rule], heading: str) -> str:
    return rule.page().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]


def test_there_are_rules() -> None:
    assert {rule.code for rule in RULES} >= {"JAX001", "JAX201", "JAX202", "JAX301", "JAX401", "JAX402"}


def test_codes_and_names_are_unique() -> None:
    assert [item for item, count in Counter(rule.code for rule in RULES).items() if count > 1] == []
    assert [item for item, count in Counter(rule.name for rule in RULES).items() if count > 1] == []
    assert len(rules_by_selector()) == 2 * len(RULES)
    assert [rule.code for rule in RULES] == sorted(rule.code for rule in RULES)


@EACH
def test_identity(rule: type[Rule]) -> None:
    assert re.fullmatch(r"JAX\d{3}", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert rule.__module__ == f"jaxlint.rules.{rule.name.replace('-', '_')}"
    assert rule.__name__ == rule.name.title().replace("-", "")
    assert re.fullmatch(r"\d+\.\d+\.\d+", rule.since)
    assert re.fullmatch(r"[a-z]+", rule.group)
    if rule.code != "JAX001":
        assert issubclass(rule, (BodyRule, ClassRule, EventRule, SuppressionRule))
    if rule.enabled:
        assert not rule.preview and rule.confidence is not Confidence.LOW


@EACH
def test_page(rule: type[Rule]) -> None:
    page = rule.page()
    # a heading inside of a block is a comment of Python
    assert tuple(HEADING.findall(re.sub(r"```.*?```", "", page, flags=re.DOTALL))) == HEADINGS
    assert page.startswith("## ")
    assert [heading for heading in HEADINGS if not section(rule, heading).strip()] == []
    assert page.count("```") % 2 == 0
    assert "](https://" in section(rule, "References")


@EACH
def test_summary_is_one_sentence(rule: type[Rule]) -> None:
    summary = rule.summary()
    assert summary and "\n" not in summary
    assert not summary.endswith((".", ":", "…"))
    assert not NEW_SENTENCE.search(CODE_SPAN.sub("x", summary))
    assert summary.split()[0] in ("Finds", "Reports")
    assert section(rule, "What it does").strip().split("\n\n")[0].endswith(".")


@EACH
def test_example_shows_the_bug(rule: type[Rule], tmp_path: Path) -> None:
    """Each block has this finding and no other; a guess about the same code (of low confidence) may stand beside it."""
    blocks = PYTHON.findall(section(rule, "Example"))
    assert blocks
    for block in blocks:
        findings = check_source(block, str(tmp_path / "example.py"), ALL)
        certain = [f for f in findings if f.confidence is not Confidence.LOW or rule.confidence is Confidence.LOW]
        assert {f.code for f in certain} == {rule.code}, block


@EACH
def test_what_to_use_instead_is_clean(rule: type[Rule], tmp_path: Path) -> None:
    blocks = PYTHON.findall(section(rule, "Use instead"))
    assert blocks
    for block in blocks:
        assert check_source(block, str(tmp_path / "example.py"), ALL) == [], block
        ast.parse(block)


@pytest.mark.parametrize("rule", CHECKING, ids=lambda rule: rule.name)
def test_fixtures(rule: type[Rule]) -> None:
    """Each rule has bad programs with its code, and good ones that look suspicious."""
    folder = ROOT / "fixtures" / rule.name
    good = [path for path in folder.iterdir() if path.name.startswith("good_")]
    bad = [program for program in cases.programs() if program.rule == rule.name and program.is_bad]
    assert len(good) >= 3
    assert any(rule.code in mark.codes for program in bad for mark in program.marks)


def test_every_folder_of_fixtures_is_that_of_a_rule() -> None:
    folders = {p.name for p in cases.FIXTURES.iterdir() if p.is_dir() and not p.name.startswith((".", "__"))}
    assert folders - cases.OTHER_FOLDERS == {rule.name for rule in CHECKING}


def test_no_row_of_the_readme_is_wrong() -> None:
    """A rule that is new may be missing: the table is made anew at each release."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    written = readme.partition(rules_table.BEGIN)[2].partition(rules_table.END)[0].strip()
    rows, _, off = written.partition("\n\n")
    now_rows, _, now_off = rules_table.render(RULES).partition("\n\n")
    assert set(rows.splitlines()) <= set(now_rows.splitlines()), "run python -m jaxlint.report.rules_table README.md"
    links = re.compile(r"\[JAX\d+\]\([^)]*\)")
    assert set(links.findall(off)) <= set(links.findall(now_off))
    assert len(rows.splitlines()) > 50


# -- messages --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def findings(is_thorough: bool, stored: Path) -> list[tuple[Finding, Program]]:
    """The findings in one program of each case, of another framework from case to case; each with its program.

    With `--thorough`, in all programs.
    """
    some = cases.programs() if is_thorough else cases.rotated(cases.programs())
    programs = {program.id: program for program in some}
    return [(f, programs[id_]) for id_, found in linted(programs.values(), stored).items() for f in found]


def test_messages(findings: list[tuple[Finding, Program]]) -> None:
    """A message is one sentence without a final stop that names the class, if it is about one."""
    assert len(findings) > 900
    nameless = {rule.code for rule in RULES if issubclass(rule, SuppressionRule) or rule.about_values}
    wrong = []
    for finding, program in findings:
        text = "\n".join(program.files.values())
        message = (
            finding.message.replace(".remove(", "remove(").replace(".index(", "index(").replace(".count(", "count(")
        )
        spans = {span.strip("`") for span in CODE_SPAN.findall(message)}
        classes = {span for span in spans if re.fullmatch(r"_*[A-Z]\w*", span) and re.search(rf"\b{span}\b", text)}
        plain = CODE_SPAN.sub("x", message)
        complaints = [
            "\n" in message and "has a line break",
            message.endswith((".", "!", ";", ":", " ")) and "ends with a stop",
            NEW_SENTENCE.search(plain) is not None and "is more than one sentence",
            plain[0].isupper() and "begins with a capital",
            not classes and finding.code not in nameless and "does not name the class",
            message.count("`") % 2 and "has an open backtick",
            "  " in message and "has two spaces",
        ]
        wrong += [f"{finding.code} {message}: {complaint}" for complaint in complaints if complaint]
    assert sorted(set(wrong)) == []


def test_reasons_and_ways_out(findings: list[tuple[Finding, Program]]) -> None:
    """Every finding says why it matters and what to write instead, as phrases."""
    wrong = {
        f"{f.code} {f.name}: {text!r}"
        for f, _ in findings
        for text in (f.reason, f.help)
        if not text or text[0].isupper() or text.endswith((".", "!", ";", ":", " ")) or "\n" in text
    }
    assert sorted(wrong) == []


def test_every_rule_has_findings(findings: list[tuple[Finding, Program]]) -> None:
    assert {rule.code for rule in CHECKING} - {f.code for f, _ in findings} == set()
    names = {(f.code, f.name) for f, _ in findings}
    assert names <= {(rule.code, rule.name) for rule in RULES}


def test_places(findings: list[tuple[Finding, Program]]) -> None:
    """A finding underlines something: its range is not empty and lies in the file."""
    for finding, program in findings:
        text = program.files[finding.path].split("\n")
        assert 1 <= finding.row <= finding.end_row <= len(text), finding
        assert (finding.row, finding.column) < (finding.end_row, finding.end_column), finding
        assert finding.end_column <= len(text[finding.end_row - 1]) + 1, finding
        assert not text[finding.row - 1][finding.column - 1].isspace(), finding
