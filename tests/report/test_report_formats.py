"""Each output format: what it looks like (`tests/report/golden`), and which paths it names.

`UPDATE_GOLDEN=1 pytest tests/report/test_report_formats.py` writes the golden files anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from jaxlint.finding import Finding
from jaxlint.report import FORMATS, STATISTICS, writer
from jaxlint.report.base import Report, reader
from tests.report.samples import (
    SOURCE,
    as_dict,
    findings,
    location_of,
    results,
    written,
)

pytestmark = pytest.mark.usefixtures("project", "rules_that_stay")
GOLDEN = Path(__file__).with_name("golden")


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


@pytest.mark.parametrize("format_", FORMATS)
def test_a_text_that_is_not_on_disk(format_: str, project: Path) -> None:
    path = project / "pkg" / "train.py"
    on_disk = written(format_)
    path.unlink()
    report = Report(findings(), read=reader("pkg/train.py", SOURCE.encode()), summary=True)
    assert written(format_, report) == on_disk
    if format_ in ("full", "json", "gitlab", "rdjson", "sarif"):
        assert written(format_) != on_disk
