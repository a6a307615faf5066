"""How findings are shown."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

import jaxlint.rules
from jaxlint.errors import UserError
from jaxlint.finding import DOCS_URL, Applicability, Confidence, Edit, Finding, Fix, Severity
from jaxlint.report import json as json_report
from jaxlint.report import rules_table
from jaxlint.report.base import Report, notes
from jaxlint.report.text import wants_color, write_concise, write_full
from jaxlint.rules.base import Rule


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def finding(
    row: int,
    column: int,
    end_row: int,
    end_column: int,
    *,
    path: str = "a.py",
    message: str = "field `x` of `A` is frozen",
    severity: Severity = Severity.ERROR,
    confidence: Confidence = Confidence.HIGH,
    reason: str = "",
    help: str = "",
    fix: Fix | None = None,
) -> Finding:
    return Finding(
        str(Path(path).absolute()),
        row,
        column,
        end_row,
        end_column,
        "JAX401",
        "frozen-assignment",
        message,
        severity,
        confidence,
        reason,
        help,
        fix=fix,
    )


def shown(*findings: Finding, full: bool = False, color: bool = False, summary: bool = False) -> str:
    stream = io.StringIO()
    write = write_full if full else write_concise
    write(Report(findings, color=color, summary=summary), stream)
    return stream.getvalue()


def frame(text: str, *place: int) -> str:
    """The lines between the arrow and the address of the page."""
    Path("a.py").write_bytes(text.encode())
    lines = shown(finding(*place), full=True).split("\n")
    assert lines[-1] == lines[-2] == ""
    return "\n".join(lines[2:-3])


def test_concise() -> None:
    one = finding(3, 5, 3, 8, path="pkg/a.py", message="a message", confidence=Confidence.MEDIUM)
    two = finding(12, 1, 13, 2, path="/elsewhere/b.py", message="another", confidence=Confidence.LOW, reason="why")
    assert shown(one, two) == (
        "pkg/a.py:3:5: JAX401 a message\n/elsewhere/b.py:12:1: JAX401 another (low confidence)\n"
    )


FULL = """\
JAX401 field `x` of `A` is frozen (low confidence)
  --> a.py:10:5
   |
 9 | def f(a):
10 |     a.x = 1
   |     ^^^
11 |     return a
   |
   = why: the class is frozen
   = help: return `a.replace(x=1)`
   = see: https://jaxlint-pytree.readthedocs.io/en/latest/rules/frozen-assignment/

"""


def test_full() -> None:
    Path("a.py").write_text("import x\n" * 7 + "\ndef f(a):\n    a.x = 1\n    return a\n\n")
    place = finding(
        10,
        5,
        10,
        8,
        confidence=Confidence.LOW,
        reason="the class is frozen",
        help="return `a.replace(x=1)`",
    )
    assert shown(place, full=True) == FULL
    assert shown(place, place, full=True) == FULL + FULL


def test_frame_shows_two_rows_around() -> None:
    assert frame("1\n2\n3\n4\n5\n6\n7\n", 4, 1, 4, 2) == "  |\n2 | 2\n3 | 3\n4 | 4\n  | ^\n5 | 5\n6 | 6\n  |"


def test_frame_at_the_edges_of_the_file() -> None:
    assert frame("ab", 1, 1, 1, 3) == "  |\n1 | ab\n  | ^^\n  |"
    assert frame("\n\nab\n\n\n", 3, 2, 3, 2) == "  |\n3 | ab\n  |  ^\n  |"
    assert frame("\n", 1, 1, 1, 1) == "  |\n1 |\n  | ^\n  |"


def test_no_frame_without_the_row() -> None:
    assert frame("", 1, 1, 1, 1) == ""
    assert frame("a\n", 3, 1, 3, 1) == ""
    Path("a.py").write_bytes(b"'\xff'\n")
    assert shown(finding(1, 2, 1, 2), full=True).split("\n")[1:3] == [
        " --> a.py:1:2",
        f"  = see: {DOCS_URL}/frozen-assignment/",
    ]
    Path("a.py").unlink()
    assert shown(finding(1, 2, 1, 2), full=True).startswith(
        "JAX401 field `x` of `A` is frozen\n --> a.py:1:2\n  = see: "
    )


@pytest.mark.parametrize(
    ("line", "target", "expected"),
    [
        ("\tx.y = 1", "x.y", "1 |     x.y = 1\n  |     ^^^"),
        ("a\tb\tc", "b\tc", "1 | a   b   c\n  |     ^^^^^"),
        ("日本 = x", "x", "1 | 日本 = x\n  |        ^"),
        ("日本 = x", "日本", "1 | 日本 = x\n  | ^^^^"),
        ("'日\t' + x", "x", "1 | '日 ' + x\n  |         ^"),
        ("'👨‍👩‍👧' + x", "x", "1 | '👨‍👩‍👧' + x\n  |        ^"),
        ("'❤️' + x", "x", "1 | '❤️' + x\n  |        ^"),
        ("'e\u0301' + x", "x", "1 | 'e\u0301' + x\n  |       ^"),
        ("'\x1b[31m' + x", "x", "1 | '␛[31m' + x\n  |           ^"),
        ("'\u202e' + x", "x", "1 | '�' + x\n  |       ^"),
        ("\x0cx = 1", "x", "1 | ␌x = 1\n  |  ^"),
    ],
)
def test_carets_stand_under_the_range(line: str, target: str, expected: str) -> None:
    start = line.index(target) + 1
    assert frame(line + "\n", 1, start, 1, start + len(target)) == f"  |\n{expected}\n  |"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_frame_of_other_newlines(newline: str) -> None:
    assert frame(newline.join(["a", "bc", "d"]), 2, 2, 2, 3) == "  |\n1 | a\n2 | bc\n  |  ^\n3 | d\n  |"


def test_frame_of_several_rows() -> None:
    text = "a\nfoo(\n    1,\n\n)\nb\n"
    assert frame(text, 2, 1, 5, 2) == "  |\n1 |   a\n2 | / foo(\n3 | |     1,\n4 | |\n5 | | )\n  | |_^\n6 |   b\n  |"
    # A range that ends at the start of a row ends with the row before.
    assert frame(text, 2, 1, 6, 1) == frame(text, 2, 1, 5, 2)
    assert frame("    foo(\n    日)\n", 1, 5, 2, 7) == "  |\n1 | /     foo(\n2 | |     日)\n  | |_______^\n  |"


def test_frame_of_several_rows_that_starts_late() -> None:
    assert frame("x = foo(\n  1)\n", 1, 5, 2, 5) == "  |\n1 |   x = foo(\n  |  _____^\n2 | |   1)\n  | |____^\n  |"


def test_frame_of_many_rows_leaves_out_the_middle() -> None:
    text = "[\n" + "".join(f"    {row},\n" for row in range(2, 100)) + "]\n"
    assert frame(text, 1, 1, 100, 2) == (
        "    |\n  1 | / [\n  2 | |     2,\n  3 | |     3,\n  4 | |     4,\n"
        "...   |\n 97 | |     97,\n 98 | |     98,\n 99 | |     99,\n100 | | ]\n    | |_^\n    |"
    )


def test_frame_of_a_long_line_leaves_out_its_ends() -> None:
    lines = frame("a" * 500 + "bad" + "c" * 500 + "\nnext\n", 1, 501, 1, 504).split("\n")
    assert lines == [
        "  |",
        "1 | …" + "a" * 40 + "bad" + "c" * 117 + "…",
        "  |  " + " " * 40 + "^^^",
        "2 | …",
        "  |",
    ]
    lines = frame("x = " + "a" * 500 + "\n", 1, 1, 1, 2).split("\n")
    assert lines[1:3] == ["1 | x = " + "a" * 156 + "…", "  | ^"]


def test_text_cannot_act_on_the_terminal() -> None:
    evil = finding(1, 1, 1, 1, path="a\n\x1b[31m.py", message="a\x1b[2Jb\nc", reason="d\re", help="f\x9bg")
    assert shown(evil) == "a␊␛[31m.py:1:1: JAX401 a␛[2Jb␊c\n"
    assert shown(evil, full=True).split("\n")[2:4] == ["  = why: d␍e", "  = help: f�g"]


def test_summary() -> None:
    errors = [finding(1, 1, 1, 1)] * 2
    warning = finding(1, 1, 1, 1, severity=Severity.WARNING)
    hint = finding(1, 1, 1, 1, severity=Severity.INFO)
    assert shown(summary=True) == "All checks passed!\n"
    assert shown(summary=True, full=True) == "All checks passed!\n"
    assert shown(errors[0], summary=True).split("\n")[-2] == "Found 1 error."
    assert shown(*errors, summary=True).split("\n")[-2] == "Found 2 errors."
    assert shown(hint, warning, *errors, warning, summary=True).split("\n")[-2] == "Found 2 errors, 2 warnings, 1 hint."


def test_color() -> None:
    Path("a.py").write_text("a.x = [red]1[/red] # :smile:\n" + "long " * 60)
    text = shown(finding(1, 1, 1, 4), full=True, color=True)
    plain = shown(finding(1, 1, 1, 4), full=True)
    assert text.startswith("\x1b]8;")
    assert f"{DOCS_URL}/frozen-assignment/" in text.split("JAX401")[0]
    assert "\x1b[1;31mJAX401\x1b[0m" in text
    assert "\x1b[1;31m ^^^\x1b[0m" in text
    assert re.sub(r"\x1b\]8;.*?\x1b\\|\x1b\[[0-9;]*m", "", text) == plain


class Stream(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("terminal", "environ", "expected"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": ""}, False),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_wants_color(terminal: bool, environ: dict[str, str], expected: bool) -> None:
    assert wants_color(Stream(terminal), environ) is expected


def objects(*findings: Finding) -> list[dict[str, Any]]:
    stream = io.StringIO()
    json_report.write(Report(findings), stream)
    text = stream.getvalue()
    assert text.isascii()
    found = json.loads(text)
    assert isinstance(found, list)
    return found


def test_json() -> None:
    assert objects() == []
    one = finding(3, 5, 4, 1, path="é.py", severity=Severity.WARNING, reason="why", help="how")
    assert objects(one) == [
        {
            "code": "JAX401",
            "name": "frozen-assignment",
            "message": "field `x` of `A` is frozen",
            "cell": None,
            "noqa_row": 3,
            "severity": "warning",
            "confidence": "high",
            "filename": str(Path("é.py").absolute()),
            "location": {"row": 3, "column": 5},
            "end_location": {"row": 4, "column": 1},
            "url": "https://jaxlint-pytree.readthedocs.io/en/latest/rules/frozen-assignment/",
            "fix": None,
            "reason": "why",
            "help": "how",
        }
    ]


def test_json_fix() -> None:
    text = "é = 1\r\nbc = 2\r\n"
    Path("a.py").write_bytes(text.encode())
    edits = (
        Edit(0, 0, "import x\n"),
        Edit(text.index("c"), text.index("2") + 1, ""),
        Edit(len(text), len(text), "d\n"),
    )
    fix = Fix("Rename it", Applicability.UNSAFE, edits)
    assert objects(finding(2, 1, 2, 2, fix=fix))[0]["fix"] == {
        "applicability": "unsafe",
        "message": "Rename it",
        "edits": [
            {"content": "import x\n", "location": {"row": 1, "column": 1}, "end_location": {"row": 1, "column": 1}},
            {"content": "", "location": {"row": 2, "column": 2}, "end_location": {"row": 2, "column": 7}},
            {"content": "d\n", "location": {"row": 3, "column": 1}, "end_location": {"row": 3, "column": 1}},
        ],
    }
    Path("a.py").unlink()
    assert objects(finding(2, 1, 2, 2, fix=fix))[0]["fix"] is None


def test_json_of_names_that_are_not_unicode() -> None:
    assert objects(finding(1, 1, 1, 1, path="\udcff.py"))[0]["filename"].endswith("/\udcff.py")


class StaticCounter(Rule):
    """Page.

    ## What it does

    Finds `int | Array` counters
    in static fields. They recompile.

    Second paragraph.

    ## Why is this bad?

    It is.
    """

    code, name, group, since = "JAX202", "static-counter", "static", "0.1.0"


class StaleState(Rule):
    """## What it does

    Finds updates.
    """

    code, name, group, since = "JAX407", "returned-old-state", "update", "0.2.0"
    severity, enabled, preview = Severity.WARNING, False, True


TABLE = """\
| code | name | what it finds |
|---|---|---|
| JAX202 | [static-counter](https://jaxlint-pytree.readthedocs.io/en/latest/rules/static-counter/) \
| `int \\| Array` counters in static fields. They recompile |

Off unless selected: [JAX407](https://jaxlint-pytree.readthedocs.io/en/latest/rules/returned-old-state/)."""


def test_rules_table() -> None:
    assert rules_table.render([StaticCounter, StaleState]) == TABLE


def test_rules_table_is_inserted() -> None:
    assert rules_table.insert("a\n<!-- rules:begin -->old<!-- rules:end -->\nb", "T") == (
        "a\n<!-- rules:begin -->\nT\n<!-- rules:end -->\nb"
    )
    for text in ("", "<!-- rules:begin -->", "<!-- rules:end --><!-- rules:begin -->"):
        with pytest.raises(UserError, match="must stand in the file"):
            rules_table.insert(text, "T")


def test_rules_table_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(jaxlint.rules, "all_rules", lambda: (StaticCounter, StaleState))
    readme = Path("README.md")
    readme.write_bytes(b"# x\r\n<!-- rules:begin --><!-- rules:end -->\r\n")
    assert rules_table.run(["README.md", "--check"]) == 1
    assert capsys.readouterr().err == (
        "README.md: the table of rules is out of date; run python -m jaxlint.report.rules_table README.md\n"
    )
    assert rules_table.run(["README.md"]) == 0
    assert readme.read_bytes() == f"# x\r\n<!-- rules:begin -->\n{TABLE}\n<!-- rules:end -->\r\n".encode()
    assert rules_table.run(["README.md", "--check"]) == 0
    assert rules_table.run(["gone.md"]) == 2
    assert capsys.readouterr().err == "rules_table: error: [Errno 2] No such file or directory: 'gone.md'\n"


def test_the_help_does_not_repeat_the_message() -> None:
    said = finding(1, 1, 1, 2, message="`s` is frozen; use a copy", help="use a copy")
    assert [title for title, _ in notes(said)] == ["see"]
    other = finding(1, 1, 1, 2, message="`s` is frozen", help="use a copy")
    assert [title for title, _ in notes(other)] == ["help", "see"]


@pytest.mark.parametrize(
    ("message", "help", "is_shown"),
    [
        ("nothing is checked; call `super().__post_init__()`", "write `super().__post_init__()`", False),
        ("the update is lost; write `model = model.eval(...)`", "write `model = model.eval()`", False),
        ("the update is lost; write `s = s.replace(...)`", "write `s = s.replace(x=1)`", True),
        ("`@chex.dataclass` does not take `order`: it raises; remove it", "write `@chex.dataclass`", True),
        ("`a` is lost; write `ab`", "write `a`", True),
        ("the array is shared; copy `a.x`", "write `a.x` in a copy", True),
    ],
)
def test_code_that_the_message_ends_with_is_said_once(message: str, help: str, is_shown: bool) -> None:
    shown = dict(notes(finding(1, 1, 1, 2, message=message, help=help)))
    assert ("help" in shown) is is_shown
