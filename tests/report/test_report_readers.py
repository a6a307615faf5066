"""Each output format: those who read it understand it."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import xmlschema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jaxlint.report.sarif
import jaxlint.rules
from jaxlint import check_paths
from jaxlint.finding import Applicability, Edit, Finding, Fix
from jaxlint.report import STATISTICS
from jaxlint.report.base import Report
from tests import schemas
from tests.oracle.cases import FIXTURES
from tests.report.samples import (
    RULES,
    SOURCE,
    as_dict,
    finding,
    findings,
    location_of,
    results,
    written,
)

pytestmark = pytest.mark.usefixtures("project", "rules_that_stay")


def real_report() -> Report:
    """What jaxlint finds in all fixtures' demo, with all rules as they are."""
    return Report(check_paths([str(FIXTURES / "demo")]).findings)


REPORTS: dict[str, Callable[[], Report]] = {
    "all kinds": lambda: Report(findings()),
    "one place": lambda: Report([finding("a.py", 1, 1, 1, 2, message=text) for text in ("a", "b", "c")]),
    "none": lambda: Report([]),
    "errors": lambda: Report([], errors=["a", "\x00"]),
    "both": lambda: Report(findings(), errors=["a\nb"]),
    "demo": real_report,
}
with_reports = pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)


def test_every_rule_fits_into_sarif(monkeypatch: pytest.MonkeyPatch) -> None:
    """GitHub shows descriptions of up to 1,024 characters."""
    monkeypatch.setattr(jaxlint.rules, "all_rules", lambda: RULES)
    every = [finding("a.py", 1, 1, 1, 2, rule=rule, message=rule.code) for rule in RULES]
    log = written("sarif", Report(every))
    validate_sarif(log)
    described = json.loads(log)["runs"][0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in described] == [rule.code for rule in RULES]
    for rule in described:
        short, full = rule["shortDescription"]["text"], rule["fullDescription"]["text"]
        assert 0 < len(short) <= 1024 and len(short) < len(full) <= 1024, rule["id"]
        assert short.endswith(".") and "\n" not in full
        assert rule["help"]["markdown"] == rule["help"]["text"] != ""


@cache
def sarif_validator() -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(schemas.sarif(), format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)


def validate_sarif(text: str) -> None:
    assert list(sarif_validator().iter_errors(json.loads(text))) == []


def test_the_schema_of_sarif_refuses_what_is_wrong() -> None:
    log = json.loads(written("sarif"))
    log["runs"][0]["results"][0]["level"] = "hint"
    with pytest.raises(AssertionError):
        validate_sarif(json.dumps(log))


@with_reports
def test_sarif(report: Callable[[], Report]) -> None:
    said = report()
    text = written("sarif", said)
    assert text.isascii()
    validate_sarif(text)
    (run,) = json.loads(text)["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == [f.code for f in said.findings]
    assert run["invocations"][0]["executionSuccessful"] is not bool(said.errors)
    marks = [result["partialFingerprints"]["jaxlintFingerprint/v1"] for result in run["results"]]
    assert len(set(marks)) == len(said.findings)


def test_sarif_region_and_fix() -> None:
    """The regions of a fix are where the text is that it replaces."""
    lines = SOURCE.splitlines()
    (fixed,) = [result for result in results(written("sarif")) if "fixes" in result]
    ((change,),) = [fix["artifactChanges"] for fix in fixed["fixes"]]
    assert change["artifactLocation"] == location_of(fixed)["artifactLocation"]
    first, second = (replacement["deletedRegion"] for replacement in change["replacements"])
    assert lines[first["startLine"] - 1][first["startColumn"] - 1 : first["endColumn"] - 1] == "x"
    assert set(second.values()) == {1}


def test_sarif_fingerprints_survive_edits_elsewhere(project: Path) -> None:
    def marks() -> list[str]:
        return [one["partialFingerprints"]["jaxlintFingerprint/v1"] for one in results(written("sarif", report))]

    report = Report(findings()[2:])
    before = marks()
    path = project / "pkg" / "train.py"
    path.write_text("# new\n" + SOURCE.replace("x: int = 0", "x: int = 1") + "# end\n", encoding="utf-8")
    moved = [as_dict(f) | {"row": f.row + 1, "end_row": f.end_row + 1} for f in report.findings]
    report = Report([Finding(**one) for one in moved])
    assert marks() == before


#: What GitLab's documentation of the Code Quality report format asks of each item (ci/testing/code_quality);
#: its own validator (`app/validators/json_schemas/codeclimate.json`) asks for the same keys, and less of their values.
GITLAB: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "location", "severity"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path"],
                "oneOf": [{"required": ["lines"]}, {"required": ["positions"]}],
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!\\./)"},
                    "lines": {"required": ["begin"], "properties": {"begin": {"type": "integer", "minimum": 1}}},
                    "positions": {
                        "required": ["begin"],
                        "properties": {
                            "begin": {"required": ["line"], "properties": {"line": {"type": "integer", "minimum": 1}}}
                        },
                    },
                },
            },
        },
    },
}


@with_reports
def test_gitlab(report: Callable[[], Report]) -> None:
    said = report()
    found = json.loads(written("gitlab", said))
    jsonschema.validate(found, GITLAB)
    assert len({one["fingerprint"] for one in found}) == len(found) == len(said.findings)
    for one, shown in zip(found, said.findings, strict=True):
        assert one["description"].startswith(f"{shown.code}: {shown.message}")
        assert one["check_name"] == shown.code
        assert one["location"]["positions"]["begin"]["line"] == shown.row


@pytest.mark.parametrize("wrong", [{"severity": "error"}, {"location": {"path": "a.py"}}, {"check_name": None}])
def test_the_schema_of_gitlab_refuses_what_is_wrong(wrong: dict[str, Any], project: Path) -> None:
    found = json.loads(written("gitlab", Report(findings()[:1])))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{**found[0], **wrong}], GITLAB)


@cache
def junit_schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(schemas.JUNIT.content().decode())


@with_reports
def test_junit(report: Callable[[], Report]) -> None:
    said = report()
    text = written("junit", said)
    assert text.isascii()
    junit_schema().validate(text)
    root = ET.fromstring(text)
    cases = root.findall("testsuite/testcase")
    names = [(case.get("classname"), case.get("name")) for case in cases]
    assert len(set(names)) == len(names) == int(root.attrib["tests"]) > 0
    for place in (root, *root):
        inside = list(place.iter("testcase"))
        assert int(place.attrib["tests"]) == len(inside)
        assert int(place.attrib["failures"]) == sum(case.find("failure") is not None for case in inside)
        assert int(place.attrib["errors"]) == sum(case.find("error") is not None for case in inside)
    assert root.attrib["failures"] == str(len(said.findings))
    assert root.attrib["errors"] == str(len(said.errors))


@with_reports
def test_json_documents(report: Callable[[], Report]) -> None:
    said = report()
    document = json.loads(written("json", said))
    assert [json.loads(line) for line in written("json-lines", said).splitlines()] == document
    assert [(one["code"], one["filename"]) for one in document] == [(f.code, f.path) for f in said.findings]
    counted = json.loads(written("json", said, STATISTICS))
    assert sum(one["count"] for one in counted) == len(said.findings)
    assert [json.loads(line) for line in written("json-lines", said, STATISTICS).splitlines()] == counted


def command(line: str) -> tuple[str, dict[str, str], str]:
    """A line as the runner of GitHub Actions reads it: the command, its properties and its text."""
    start, head, text = line.split("::", 2)
    assert start == ""
    name, _, rest = head.partition(" ")
    pairs = [pair.split("=", 1) for pair in rest.strip().split(",")]

    def plain(text: str, escapes: str) -> str:
        for character in escapes:
            text = text.replace(f"%{ord(character):02X}", character)
        return text.replace("%25", "%")

    return name, {key: plain(value, "\r\n:,") for key, value in pairs}, plain(text, "\r\n")


@with_reports
def test_github(report: Callable[[], Report]) -> None:
    said = report()
    lines = written("github", said).split("\n")
    assert lines.pop() == ""
    assert len(lines) == len(said.findings)
    for line, shown in zip(lines, said.findings, strict=True):
        name, properties, text = command(line)
        assert name == {"error": "error", "warning": "warning", "info": "notice"}[shown.severity.value]
        assert os.path.normpath(properties["file"]) == properties["file"]
        assert os.path.join(os.getcwd(), properties["file"]) == shown.path
        assert (properties["line"], properties["endLine"]) == (str(shown.row), str(shown.end_row))
        # the runner takes columns only where both lines are the same
        assert ("col" in properties) == ("endColumn" in properties) == (shown.row == shown.end_row)
        assert f"{shown.code} {shown.message}" in text


TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)
#: The names of files are bytes; those that are no UTF-8 have surrogates in their text.
NAMES = st.binary(min_size=1, max_size=9).filter(lambda raw: not {0, 47} & {*raw}).map(os.fsdecode) | st.text(
    st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=9
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(NAMES.filter(lambda name: name not in (".", "..")), TEXTS, TEXTS)
def test_any_text_and_any_name(name: str, message: str, reason: str) -> None:
    """No text and no name of a file can break a document or forge a part of it."""
    said = Report([finding(name, 1, 1, 1, 2, message=message, reason=reason)])
    (path,) = [f.path for f in said.findings]
    line = written("github", said).removesuffix("\n")
    assert "\n" not in line and "\r" not in line
    assert command(line)[1]["file"] == os.path.relpath(path)
    assert f": JAX401 {message}\n" in command(line)[2]
    assert json.loads(written("gitlab", said))[0]["location"]["path"] == os.path.relpath(path)
    assert json.loads(written("json", said))[0]["message"] == message
    failure = ET.fromstring(written("junit", said)).find("testsuite/testcase/failure")
    assert failure is not None
    validate_sarif(written("sarif", said))
    for format_ in ("full", "concise", "grouped"):
        text = written(format_, said)
        assert "\x1b" not in text and "\r" not in text
    assert len(written("concise", said).split("\n")) == 2


# -- rdjson ----------------------------------------------------------------------------------------


def test_rdjson_suggests_what_the_fix_writes(tmp_path: Path) -> None:
    before, after = "    print('é'); s.x = 1\n", "    print('é'); s = s.replace(x=1)\n"
    path = tmp_path / "a.py"
    path.write_text("# é\n" * 20 + before, encoding="utf-8")
    start = 80 + before.index("s.x")
    near = (Edit(start, start, "s = "), Edit(start + 1, start + 7, ".replace(x=1)"))
    fix = Fix("Bind it", Applicability.SAFE, (Edit(0, 0, "import copy\n"), *near))
    one = finding(str(path), 21, 17, 21, 20, fix=fix)
    (diagnostic,) = json.loads(written("rdjson", Report([one])))["diagnostics"]
    assert diagnostic["location"]["range"]["start"] == {"line": 21, "column": 18}  # in bytes
    first, second = diagnostic["suggestions"]
    assert (first["range"]["start"], first["text"]) == ({"line": 1, "column": 1}, "import copy\n")
    ends = [second["range"][word] for word in ("start", "end")]
    assert [end["line"] for end in ends] == [21, 21]
    line = before.encode()
    fixed = line[: ends[0]["column"] - 1] + second["text"].encode() + line[ends[1]["column"] - 1 :]
    assert fixed.decode() == after
