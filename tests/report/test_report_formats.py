"""Each output format: what it looks like (`tests/golden`), and that those who read it understand it.

`UPDATE_GOLDEN=1 pytest tests/report/test_report_formats.py` writes the golden files anew.
"""

from __future__ import annotations

import io
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
from jaxlint.finding import Applicability, Confidence, Edit, Finding, Fix, Severity
from jaxlint.report import FORMATS, STATISTICS, writer
from jaxlint.report.base import Report, reader
from jaxlint.rules.base import Rule
from tests import schemas
from tests.oracle.cases import FIXTURES

GOLDEN = Path(__file__).with_name("golden")
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


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, the current one, with the file that has the findings."""
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "train.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(autouse=True)
def _with_rules_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = (FrozenAssignment, StaleState, Unused)
    others = [rule for rule in RULES if rule.code not in {one.code for one in ours}]
    monkeypatch.setattr(jaxlint.rules, "all_rules", lambda: (*ours, *others))
    monkeypatch.setattr(jaxlint.report.sarif, "__version__", "1.2.3")


def finding(path: str, *place: int, rule: type[Rule] = FrozenAssignment, message: str = "", **others: Any) -> Finding:
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
    stream = io.StringIO()
    writer(table, format_)(report or Report(findings(), summary=True), stream)
    return stream.getvalue()


def compare(name: str, text: str, tmp_path: Path) -> None:
    """Compare `text` with the golden file `name`, in which the folder of the test is called `/tmp`."""
    for folder, root in ((str(tmp_path), "/tmp"), (str(tmp_path)[1:].replace("/", "."), "tmp")):
        text = text.replace(folder, root)
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_bytes(text.encode("utf-8"))
    assert text == path.read_bytes().decode("utf-8")


SUFFIXES = {
    "json": ".json",
    "json-lines": ".jsonl",
    "gitlab": ".json",
    "junit": ".xml",
    "rdjson": ".json",
    "sarif": ".json",
}


@pytest.mark.parametrize("format_", FORMATS)
def test_golden(format_: str, tmp_path: Path) -> None:
    compare(format_ + SUFFIXES.get(format_, ".txt"), written(format_), tmp_path)


@pytest.mark.parametrize("format_", ["concise", "json", "json-lines"])
def test_golden_statistics(format_: str, tmp_path: Path) -> None:
    text = written(format_, table=STATISTICS)
    compare(f"statistics-{format_}{SUFFIXES.get(format_, '.txt')}", text, tmp_path)


@pytest.mark.parametrize("format_", ["junit", "sarif"])
def test_golden_errors(format_: str, tmp_path: Path) -> None:
    text = written(format_, Report([], errors=["a.py: JAX401 failed: <&>", "b\udcff"]))
    compare(f"{format_}-errors{SUFFIXES[format_]}", text, tmp_path)


EMPTY = {
    "full": "All checks passed!\n",
    "concise": "All checks passed!\n",
    "grouped": "All checks passed!\n",
    "json": "[]\n",
    "json-lines": "",
    "github": "",
    "gitlab": "[]\n",
}


@pytest.mark.parametrize(("format_", "expected"), EMPTY.items())
def test_nothing_found(format_: str, expected: str) -> None:
    assert written(format_, Report([], summary=True)) == expected


def test_no_statistics() -> None:
    empty = Report([], summary=True)
    assert written("full", empty, STATISTICS) == "All checks passed!\n"
    assert written("json", empty, STATISTICS) == "[]\n"
    assert written("json-lines", empty, STATISTICS) == ""


def test_tables() -> None:
    assert list(STATISTICS) == list(FORMATS)[: len(STATISTICS)]
    for table in (FORMATS, STATISTICS):
        assert all(callable(writer(table, name)) for name in table)


# -- paths ---------------------------------------------------------------------------------------


def paths_in(text: str) -> list[str]:
    return [result["location"]["path"] for result in json.loads(text)]


@pytest.mark.parametrize("variable", ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"])
def test_ci_paths_are_relative_to_the_repository(
    variable: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the command runs in a folder of the repository, GitHub and GitLab still find the files."""
    monkeypatch.setenv(variable, f"{tmp_path}/")
    assert set(paths_in(written("gitlab"))) == {
        "elsewhere/b.py",
        "project/pkg/100%, a:b é.py",
        "project/pkg/train.py",
    }
    assert ",file=project/pkg/train.py," in written("github")
    assert "::project/pkg" not in written("github")  # what people read is relative to where they are
    uris = {location_of(result)["artifactLocation"]["uri"] for result in results(written("sarif"))}
    assert uris == {"elsewhere/b.py", "project/pkg/100%25%2C%20a%3Ab%20%C3%A9.py", "project/pkg/train.py"}
    here = written("gitlab", Report(findings()[2:]))
    monkeypatch.setenv(variable, "/nowhere")
    assert set(paths_in(written("gitlab"))) >= {"pkg/train.py", f"{tmp_path}/elsewhere/b.py"}
    monkeypatch.setenv(variable, "pkg")
    assert set(paths_in(written("gitlab"))) >= {"pkg/train.py"}
    monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    moved = [f for f in findings() if f.path.endswith("train.py")]
    report = Report([Finding(**{**as_dict(f), "path": str(project / "pkg" / "train.py")}) for f in moved])
    assert written("gitlab", report) == here


def as_dict(one: Finding) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__struct_fields__}


@pytest.mark.parametrize("format_", FORMATS)
def test_a_text_that_is_not_on_disk(format_: str, project: Path) -> None:
    path = project / "pkg" / "train.py"
    on_disk = written(format_)
    path.unlink()
    report = Report(findings(), read=reader("pkg/train.py", SOURCE.encode()), summary=True)
    assert written(format_, report) == on_disk
    if format_ in ("full", "json", "gitlab", "rdjson", "sarif"):
        assert written(format_) != on_disk


# -- those who read it -----------------------------------------------------------------------------


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


def results(text: str) -> list[dict[str, Any]]:
    found = json.loads(text)["runs"][0]["results"]
    assert isinstance(found, list)
    return found


def location_of(result: dict[str, Any]) -> dict[str, Any]:
    (location,) = result["locations"]
    found = location["physicalLocation"]
    assert isinstance(found, dict)
    return found


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
    for one, finding in zip(found, said.findings, strict=True):
        assert one["description"].startswith(f"{finding.code}: {finding.message}")
        assert one["check_name"] == finding.code
        assert one["location"]["positions"]["begin"]["line"] == finding.row


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
    for line, finding in zip(lines, said.findings, strict=True):
        name, properties, text = command(line)
        assert name == {"error": "error", "warning": "warning", "info": "notice"}[finding.severity.value]
        assert os.path.normpath(properties["file"]) == properties["file"]
        assert os.path.join(os.getcwd(), properties["file"]) == finding.path
        assert (properties["line"], properties["endLine"]) == (str(finding.row), str(finding.end_row))
        # the runner takes columns only where both lines are the same
        assert ("col" in properties) == ("endColumn" in properties) == (finding.row == finding.end_row)
        assert f"{finding.code} {finding.message}" in text


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
