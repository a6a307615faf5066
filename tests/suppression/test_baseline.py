"""Baselines: known findings are left out by content, new ones and stale entries are reported."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxlint import check_paths
from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence, Finding, Severity
from jaxlint.suppression.baseline import Entry, read_baseline, without_known, write_baseline
from jaxlint.suppression.comments import suppressions
from jaxlint.syntax.source import Source
from tests.command import run

HEAD = "import jax\nfrom flax import struct\n\n@struct.dataclass\nclass State:\n    x: jax.Array\n    y: jax.Array\n\n"
LINES = ("    s.x = 1\n", "    s.y = 1\n", "    s.x = 1\n")


def program(*lines: str) -> str:
    return HEAD + "def f(s: State) -> State:\n" + "".join(lines) + "    return s\n"


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """The places and codes that `check` with the baseline reports."""
    out = run(capsys, "check", "--baseline", "known.json", "--output-format", "concise", "-q", *arguments)[1]
    return [" ".join(line.split()[:2]) for line in out.splitlines()]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A project with four findings and a baseline that holds them."""
    monkeypatch.chdir(tmp_path)
    Path("pkg").mkdir()
    Path("pkg/a.py").write_text(program(*LINES))
    Path("b.py").write_text(program(LINES[0]))
    assert run(capsys, "check", "--write-baseline", "known.json") == (
        0,
        "",
        "jaxlint: known.json holds 4 findings now\n",
    )
    return tmp_path


CONTENT = """\
{
  "version": 1,
  "findings": [
    {"path": "b.py", "rule": "JAX401", "line": "s.x = 1", "occurrence": 1},
    {"path": "pkg/a.py", "rule": "JAX401", "line": "s.x = 1", "occurrence": 1},
    {"path": "pkg/a.py", "rule": "JAX401", "line": "s.x = 1", "occurrence": 2},
    {"path": "pkg/a.py", "rule": "JAX401", "line": "s.y = 1", "occurrence": 1}
  ]
}
"""


def test_a_baseline_is_easy_to_read(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert Path("known.json").read_text() == CONTENT
    assert run(capsys, "check", "--write-baseline", "known.json")[0] == 0
    assert Path("known.json").read_text() == CONTENT
    assert run(capsys, "check", "--baseline", "known.json") == (0, "All checks passed!\n", "")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_only_new_findings_are_reported(project: Path, capsys: pytest.CaptureFixture[str], jobs: str) -> None:
    Path("pkg/a.py").write_text(program(*LINES, "    s.y = 2\n", LINES[1]))
    assert shown(capsys, "-j", jobs) == ["pkg/a.py:13:5: JAX401", "pkg/a.py:14:5: JAX401"]


def test_edits_elsewhere_change_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = program(LINES[1], "    \n", "    if s:\n", "    " + LINES[0], LINES[2].replace("=", "  ="))
    Path("pkg/a.py").write_text("# a comment\n\n" + text.replace("\n", "\r\n"))
    assert shown(capsys) == []


def test_a_renamed_file_takes_its_entries_along(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.py").rename("c.py")
    Path("pkg").rename("lib")
    assert shown(capsys) == []
    code, _, err = run(capsys, "check", "--baseline", "known.json", "--strict-baseline")
    assert (code, err) == (0, "")
    assert run(capsys, "check", "--write-baseline", "known.json")[0] == 0
    assert Path("known.json").read_text() == CONTENT.replace("b.py", "c.py").replace("pkg/", "lib/")


def test_what_is_new_in_a_renamed_file_is_found(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A copy is new, and so is a finding that the file did not have."""
    Path("c.py").write_text(program(LINES[0]))
    assert shown(capsys) == ["c.py:10:5: JAX401"]
    Path("c.py").unlink()
    Path("b.py").unlink()
    Path("new.py").write_text(program(LINES[0], LINES[2]))
    assert shown(capsys) == ["new.py:11:5: JAX401"]


def test_the_baseline_holds_from_everywhere(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("pyproject.toml").write_text("[tool.jaxlint]\nbaseline = 'known.json'\n")
    assert run(capsys, "check", "-q") == (0, "", "")
    assert run(capsys, "check", "-q", "--no-baseline")[0] == 1
    monkeypatch.chdir("pkg")
    assert run(capsys, "check", "a.py", "../b.py", "-q") == (0, "", "")
    assert run(capsys, "check", "-q", "--baseline", "../known.json", "--isolated") == (0, "", "")
    assert check_paths([str(project)], Settings(baseline=str(project / "known.json"))).findings == []


STALE = (
    "jaxlint: {}: known.json: 2 entries have no finding any more (pkg/a.py: JAX401 `s.x = 1`; pkg/a.py: JAX401"
    " `s.y = 1`); renew it with `--write-baseline known.json`\n"
)


def test_stale_entries_are_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pkg/a.py").write_text(program(LINES[0]))
    check = ("check", "--baseline", "known.json")
    assert run(capsys, *check) == (0, "All checks passed!\n", STALE.format("warning"))
    assert run(capsys, *check, "-q") == (0, "", "")
    assert run(capsys, *check, "-q", "--strict-baseline") == (1, "", STALE.format("error"))
    assert run(capsys, *check, "-q", "--strict-baseline", "--exit-zero") == (0, "", STALE.format("error"))
    assert run(capsys, *check, "b.py", "--strict-baseline") == (0, "All checks passed!\n", "")
    assert run(capsys, *check, "--select", "JAX2", "--strict-baseline") == (0, "All checks passed!\n", "")
    assert run(capsys, "check", "--write-baseline", "known.json")[2] == "jaxlint: known.json holds 2 findings now\n"
    assert run(capsys, *check, "--strict-baseline") == (0, "All checks passed!\n", "")


def test_entries_of_files_that_are_gone_are_stale(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.py").unlink()
    code, _, err = run(capsys, "check", "pkg", "--baseline", "known.json")
    assert (code, err) == (
        0,
        "jaxlint: warning: known.json: 1 entry has no finding any more (b.py: JAX401 `s.x = 1`);"
        " renew it with `--write-baseline known.json`\n",
    )


def test_many_stale_entries_are_one_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pkg/a.py").write_text(program(*(f"    s.x = {n}\n" for n in range(9))))
    run(capsys, "check", "--write-baseline", "known.json")
    Path("pkg/a.py").write_text("")
    err = run(capsys, "check", "--baseline", "known.json")[2]
    assert (err.count("\n"), err.count("JAX401")) == (1, 5)
    assert "; and 4 more)" in err


def test_a_run_over_a_part_keeps_the_other_entries(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.py").write_text(program())
    Path("pkg/a.py").write_text(program())
    assert (
        run(capsys, "check", "b.py", "--write-baseline", "known.json")[2]
        == "jaxlint: known.json holds 3 findings now\n"
    )
    run(capsys, "check", "--select", "JAX2", "--write-baseline", "known.json")
    assert len(read_baseline("known.json")) == 3
    run(capsys, "check", "--write-baseline", "known.json")
    assert Path("known.json").read_text() == '{\n  "version": 1,\n  "findings": []\n}\n'


def test_suppressed_findings_are_not_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.py").write_text(program("    s.x = 1  # noqa: JAX401\n"))
    assert run(capsys, "check", "b.py", "--write-baseline", "new.json")[2] == "jaxlint: new.json holds 0 findings now\n"


def test_files_that_cannot_be_checked_are_always_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.py").write_text("x = (\n")
    code, out, _ = run(capsys, "check", "--write-baseline", "known.json", "--output-format", "concise")
    assert (code, out.split()[:2]) == (1, ["c.py:1:5:", "JAX001"])
    assert Path("known.json").read_text() == CONTENT
    entry = '{"path": "c.py", "rule": "JAX001", "line": "x = ("}'
    Path("known.json").write_text('{"version": 1, "findings": [' + entry + "]}")
    assert shown(capsys, "c.py") == ["c.py:1:5: JAX001"]


def test_confidence_is_asked_after_the_baseline(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is known stays known, however sure a run wants to be."""
    Path("b.py").write_text(program("    s.x = 1  # noqa: JAX402\n"))  # JAX401, and JAX002 with medium confidence
    run(capsys, "check", "--write-baseline", "known.json")
    assert {entry.rule for entry in read_baseline("known.json")} == {"JAX002", "JAX401"}
    check = ("check", "--baseline", "known.json", "--min-confidence", "high", "--strict-baseline")
    assert run(capsys, *check) == (0, "All checks passed!\n", "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "known.json: there is no such baseline; make it with `--write-baseline known.json`"),
        (
            b"{",
            "known.json: is no baseline of jaxlint: Expecting property name enclosed in double"
            " quotes: line 1 column 2 (char 1); {way}",
        ),
        (b"[]", "known.json: is no baseline of jaxlint: Expected `object`, got `array`; {way}"),
        (
            b"\xff",
            "known.json: is no baseline of jaxlint: 'utf-8' codec can't decode byte 0xff in"
            " position 0: invalid start byte; {way}",
        ),
        (b'{"version": 2, "findings": []}', "known.json: has version 2, and this jaxlint knows 1 only"),
        (
            b'{"version": 1, "findings": [{"path": "a", "rule": "b"}]}',
            "known.json: is no baseline of jaxlint: Object missing required field `line` - at `$.findings[0]`; {way}",
        ),
        (b'{"version": 1, "findings": [' + b"[" * 100_000, "known.json: is no baseline of jaxlint: "),
    ],
)
@pytest.mark.parametrize("option", ["--baseline", "--write-baseline"])
def test_baselines_that_cannot_be_used(
    project: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, message: str, option: str
) -> None:
    """They are said, and never overwritten."""
    if content is None:
        Path("known.json").unlink()
    else:
        Path("known.json").write_bytes(content)
    code, out, err = run(capsys, "check", option, "known.json")
    if option == "--write-baseline" and content is None:
        assert (code, Path("known.json").read_text()) == (0, CONTENT)
        return
    way = "correct it, or delete it and make it anew with `--write-baseline known.json`"
    if option == "--write-baseline":  # whoever names another file by mistake is not told to delete it first of all
        way = "it is left as it is; name another file, or correct or delete this one"
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("jaxlint: error: " + message.replace("{way}", way))
    assert content is None or Path("known.json").read_bytes() == content


def test_places_where_no_baseline_can_be_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "check", "--write-baseline", "gone/known.json")
    assert (code, out) == (2, "")
    assert err == "jaxlint: error: gone/known.json: cannot be written: No such file or directory\n"


def test_after_a_crash_nothing_is_written(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from jaxlint.rules import rules_by_selector

    def fail(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr(rules_by_selector()["JAX401"], "check_event", fail)
    code, _, err = run(capsys, "check", "--write-baseline", "known.json", "-j", "1")
    assert (code, err.count("\n")) == (2, 1)
    assert err.endswith("; known.json was not written\n")
    assert Path("known.json").read_text() == CONTENT
    code, _, err = run(capsys, "check", "--baseline", "known.json", "-j", "1")
    assert code == 2
    assert "no finding any more" not in err


def finding(row: int, path: str) -> Finding:
    return Finding(path, row, 1, row, 2, "JAX401", "name", "message", Severity.ERROR, Confidence.HIGH)


@given(
    st.dictionaries(
        st.sampled_from(["a.py", "d/b.py", "\udcff.py"]), st.lists(st.sampled_from(["x", " x", "y", "é", "\udcff"]))
    ),
    st.data(),
)
def test_a_written_baseline_knows_all_findings(tmp_path_factory: Any, files: dict[str, list[str]], data: Any) -> None:
    """And it is the same whatever their order."""
    root = tmp_path_factory.mktemp("project")
    (root / "d").mkdir()
    found = []
    for name, lines in files.items():
        (root / name).write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
        found += [finding(row, str(root / name)) for row in range(1, len(lines) + 1)]
    path = str(root / "known.json")
    checked = {str(root / name): ["JAX401"] for name in files}
    assert write_baseline(path, found, checked) == len(found)
    assert without_known(path, read_baseline(path), found, checked) == ([], [])
    content = Path(path).read_bytes()
    json.loads(content)
    os.unlink(path)
    write_baseline(path, data.draw(st.permutations(found)), checked)
    assert Path(path).read_bytes() == content
    assert without_known(path, read_baseline(path), [], checked)[0] == []
    assert len(without_known(path, read_baseline(path), [], checked)[1]) == len(found)


def test_entries_are_sorted_by_path() -> None:
    entries = [Entry("b", "x", "JAX401", 1), Entry("a", "y", "JAX401", 2), Entry("a", "y", "JAX401", 1)]
    assert [(e.path, e.occurrence) for e in sorted(entries)] == [("a", 1), ("a", 2), ("b", 1)]


def test_documentation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands, the file and the configuration that the page shows are right."""
    text = (Path(__file__).parents[2] / "docs" / "suppressing.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    options = run(capsys, "check", "--help")[1]
    shown = {option for option in re.findall(r"(?<=[\s`])--[a-z][a-z-]+", text)}
    assert [option for option in sorted(shown) if option not in options] == []
    assert {kind for kind, _ in blocks} == {"python", "console", "toml", "json"}
    for kind, block in blocks:
        if kind == "json":
            (tmp_path / "known.json").write_text(block)
            assert len(read_baseline(str(tmp_path / "known.json"))) == 1
        elif kind == "python":
            found = suppressions(Source.from_text("a.py", block))
            assert [one.row for one in found] == [1, 2, 3]
            assert [one.reason for one in found] == ["", *["the test wants the exception"] * 2]
