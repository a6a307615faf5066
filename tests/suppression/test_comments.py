"""Suppression comments: which are read, what they name, for which rows they hold, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxlint import check_paths, check_source
from jaxlint.config.settings import PerFileIgnore, Settings
from jaxlint.finding import Confidence, Finding, Severity
from jaxlint.linter.result import ordered
from jaxlint.rules import all_rules
from jaxlint.suppression.comments import Comments, Kind, Selector, Suppression, mentions_jaxlint, suppressions
from jaxlint.syntax.source import Source


def finding(row: int, code: str = "JAX401", name: str = "frozen-assignment") -> Finding:
    return Finding("/f.py", row, 1, row, 2, code, name, "message", Severity.ERROR, Confidence.HIGH)


def left(text: str, *findings: Finding) -> list[tuple[int, str]]:
    found = Comments(Source.from_text("/f.py", text), findings, ()).hide(())
    return [(one.row, one.code) for one in found if not one.suppressed]


def selectors(comment: str) -> list[list[str] | None]:
    found = suppressions(Source.from_text("/f.py", f"x = 1  {comment}\n"))
    return [None if one.selectors is None else [selector.text for selector in one.selectors] for one in found]


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# noqa", [None]),
        ("#noqa", [None]),
        ("# NoQA", [None]),
        ("# noqa: JAX401", [["JAX401"]]),
        ("# noqa:jax401,E501 JAX2", [["jax401", "E501", "JAX2"]]),
        ("# noqa : JAX401", [["JAX401"]]),
        ("# noqa: JAX", [["JAX"]]),
        ("# noqa: JAX401 it is fine", [["JAX401"]]),
        ("# noqa: JAX401 -- it is fine", [["JAX401"]]),
        ("# noqa: JAX401,E501 -- fine  # noqa: JAX2", [["JAX401", "E501"], ["JAX2"]]),
        ("# noqa: it is fine", [None]),
        ("# type: ignore  # noqa: E501", [["E501"]]),
        ("# noqa-file", []),
        ("# noqable", []),
        ("# a noqa", []),
        ("# jaxlint: ignore", [None]),
        ("#jaxlint:ignore", [None]),
        ("# jaxlint: ignore -- the runtime is patched", [None]),
        ("# jaxlint: ignore[JAX401]", [["JAX401"]]),
        ("# jaxlint: ignore[ JAX401 , static-counter ] -- why", [["JAX401", "static-counter"]]),
        ("# jaxlint: ignore [JAX401] why", [["JAX401"]]),
        ("# jaxlint: ignore[JAX401] # noqa: E501", [["E501"], ["JAX401"]]),
        ("# jaxlint: ignore[]", [[]]),
        ("# jaxlint: ignore because", []),
        ("# jaxlint: ignore[JAX401", []),
        ("# jaxlint: ignored", []),
        ("# jaxlint: ignore-file", []),
        ("# ruff: ignore[JAX401]", []),
    ],
)
def test_reads_comment(comment: str, expected: list[list[str] | None]) -> None:
    assert selectors(comment) == expected


def test_keeps_places_and_reason() -> None:
    text = "def f():\n    é(\n        1,  # x # jaxlint: ignore[JAX401, static-counter]  -- a reason \n    )\n"
    assert suppressions(Source.from_text("/f.py", text)) == [
        Suppression(
            kind=Kind.IGNORE,
            row=3,
            column=17,
            end_column=71,
            selectors=(Selector("JAX401", 35, 41), Selector("static-counter", 43, 57)),
            reason="a reason",
            first=2,
            last=4,
        )
    ]
    line = text.split("\n")[2]
    assert line[16:70] == "# jaxlint: ignore[JAX401, static-counter]  -- a reason"
    assert (line[34:40], line[42:56]) == ("JAX401", "static-counter")


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("# noqa: JAX401 -- it is fine  # more", "it is fine"),
        ("# noqa: JAX401 it is fine", ""),
        ("# noqa -- it is fine", ""),
        ("# jaxlint: ignore[JAX401] -- see #3", "see #3"),
        ("# jaxlint: ignore -- it is fine", "it is fine"),
    ],
)
def test_reasons(comment: str, reason: str) -> None:
    (one,) = suppressions(Source.from_text("/f.py", f"x = 1  {comment}\n"))
    assert one.reason == reason


@pytest.mark.parametrize(
    ("comment", "suppressed"),
    [
        ("# noqa", True),
        ("# noqa: JAX401", True),
        ("# noqa: JAX4", True),
        ("# noqa: JAX40,E501", True),
        ("# noqa: jax401", True),
        ("# noqa: E501", False),
        ("# noqa: JAX402", False),
        ("# noqa: JAX4011", False),
        ("# noqa: J401", False),
        ("# jaxlint: ignore", True),
        ("# jaxlint: ignore[JAX401]", True),
        ("# jaxlint: ignore[jax4]", True),
        ("# jaxlint: ignore[frozen-assignment]", True),
        ("# jaxlint: ignore[static-counter, frozen-assignment] -- on purpose", True),
        ("# jaxlint: ignore[static-counter]", False),
        ("# jaxlint: ignore[frozen]", False),
        ("# jaxlint: ignore[]", False),
        ("# jaxlint: ignore[JAX402] # noqa: JAX3", False),
    ],
)
def test_names_rules(comment: str, suppressed: bool) -> None:
    assert left(f"x.y = 1  {comment}\n", finding(1)) == ([] if suppressed else [(1, "JAX401")])


def test_holds_for_its_line_only() -> None:
    assert left("a\nb  # noqa\nc\n", finding(1), finding(2), finding(3)) == [(1, "JAX401"), (3, "JAX401")]


def test_keeps_other_rules_of_the_line() -> None:
    others = [finding(1, "JAX201", "static-array-field"), finding(1)]
    assert left("a  # noqa: JAX401\n", *others) == [(1, "JAX201")]


LOGICAL_LINES = '''\
state = state.replace(
    a=1,
    b=2,
)  # noqa
x = """
# noqa
"""
y = """
text
"""  # noqa
z = 1 + \\
    2  # noqa
@decorate(
    a,  # noqa
)
class A(
    B,
):  # noqa
    x: int
    # noqa

    def f(
        self,  # noqa
    ): pass
# noqa
last = [
    # noqa
    1,
]; more = 1
'''


def test_holds_for_the_logical_line() -> None:
    rows = range(1, LOGICAL_LINES.count("\n") + 1)
    stored = [row for row, _ in left(LOGICAL_LINES, *(finding(row) for row in rows))]
    # The text in a string is no comment; a comment on a line of its own holds for nothing but that line.
    assert stored == [5, 6, 7, 19, 21]


def test_text_in_strings_is_no_comment() -> None:
    assert left("x = '# noqa'\ny = '''\n# jaxlint: ignore-file\n'''\n", finding(1), finding(3)) == [
        (1, "JAX401"),
        (3, "JAX401"),
    ]


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("x = 1\n    # jaxlint: ignore-file\n", []),
        ("# jaxlint: ignore-file -- generated\nx = 1\n", []),
        ("# Copyright # jaxlint: ignore-file\nx = 1\n", []),
        ("x = 1  # jaxlint: ignore-file\n", [(1, "JAX401"), (2, "JAX201")]),
        ("# jaxlint: ignore-file[JAX401]\nx = 1\n", [(2, "JAX201")]),
        ("# jaxlint: ignore-file[static-array-field]\nx = 1\n", [(1, "JAX401")]),
    ],
)
def test_ignore_file(text: str, stored: list[tuple[int, str]]) -> None:
    assert left(text, finding(1), finding(2, "JAX201", "static-array-field")) == stored


@pytest.mark.parametrize("tool", ["flake8", "ruff"])
@pytest.mark.parametrize(
    ("comment", "stored"),
    [
        ("# {}: noqa", []),
        ("   #  {}: NOQA", []),
        ("# {}: noqa: JAX401", [(3, "JAX201")]),
        ("# {}: noqa : E501, JAX2", [(2, "JAX401")]),
        ("# {}: noqa: E501", [(2, "JAX401"), (3, "JAX201")]),
        ("x = 1  # {}: noqa", [(2, "JAX401"), (3, "JAX201")]),
        ("# {}: noqa because it is generated", []),
        ("# {}: noqa JAX401", []),
        ("# {}: noqa: JAX401 is generated", [(3, "JAX201")]),
        ("# {}: noqa: generated", [(2, "JAX401"), (3, "JAX201")]),
        ("# {}: noqa-file", [(2, "JAX401"), (3, "JAX201")]),
        ("# {}: disable", [(2, "JAX401"), (3, "JAX201")]),
    ],
)
def test_noqa_for_the_file(tool: str, comment: str, stored: list[tuple[int, str]]) -> None:
    """As ruff 0.14 reads it: alone on its line. (flake8 7.5 skips the file whatever stands behind `noqa`.)"""
    text = comment.format(tool) + "\nx = 1\ny = 2\n"
    assert left(text, finding(2), finding(3, "JAX201", "static-array-field")) == stored


def test_unreadable_file_cannot_be_suppressed() -> None:
    unreadable = finding(1, "JAX001", "unreadable-file")
    assert left("# jaxlint: ignore-file\n# noqa\n", unreadable) == [(1, "JAX001")]
    assert left("x  # noqa\n", unreadable) == [(1, "JAX001")]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines(newline: str) -> None:
    text = newline.join(["a", "f(", "  b,  # noqa", ")", "\x0cc", "d\x0c  # noqa"])
    assert left(text, *(finding(row) for row in range(1, 7))) == [(1, "JAX401"), (5, "JAX401")]


@pytest.mark.parametrize(
    "text",
    [
        "ok  # noqa\nx = (  # noqa\n\n",
        "ok  # noqa\nx = '''  # noqa\n\n",
        "  ok  # noqa\n x  # noqa\ny\n",
        "ok  # noqa\n\x01$? 'x  # noqa\n\n",
    ],
)
def test_a_file_that_is_not_python_is_read_line_by_line(text: str) -> None:
    assert left(text, finding(1), finding(2), finding(3)) == [(3, "JAX401")]


@given(st.text(alphabet="#noqa: jxlint[]JAX401-\n'\"\\() \t\r\x0cé"), st.integers(1, 5))
def test_never_raises_and_never_invents(text: str, row: int) -> None:
    assert left(text, finding(row)) in ([], [(row, "JAX401")])
    assert left(text, finding(row, "JAX001", "unreadable-file")) == [(row, "JAX001")]


def test_a_hidden_finding_says_by_what() -> None:
    source = Source.from_text("/f.py", "x = 1  # é # noqa: E501, JAX401 -- why # x\ny = 1  # noqa\n")
    hidden = Comments(source, [finding(1), finding(2), finding(3)], ()).hide(())
    assert [one.suppressed for one in hidden] == ["# noqa: E501, JAX401 -- why", "# noqa", ""]


# -- what is said of comments --------------------------------------------------------------------

HEAD = "import jax\nfrom flax import struct\n\n@struct.dataclass\nclass State:\n    x: jax.Array\n\n"
#: A program whose line 9 holds a finding of JAX401.
BAD = HEAD + "def f(s: State) -> State:\n    s.x = 1{}\n    return s\n"
#: The same with a line that is right.
GOOD = HEAD + "def f(s: State) -> State:\n    s = s.replace(x=1){}\n    return s\n"


def said(text: str, settings: Settings | None = None) -> list[tuple[int, str, str]]:
    """What is found: row, code and the text that is underlined."""
    found = check_source(text, "/f.py", settings)
    lines = text.split("\n")
    return [(f.row, f.code, lines[f.row - 1][f.column - 1 : f.end_column - 1]) for f in found]


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# noqa: JAX402", [(9, "JAX002", "JAX402")]),
        ("# noqa: E501, JAX402", [(9, "JAX002", "JAX402")]),
        ("# noqa: jax402,JAX201", [(9, "JAX002", "jax402"), (9, "JAX002", "JAX201")]),
        ("# noqa: JAX001", [(9, "JAX002", "JAX001")]),
        ("# jaxlint: ignore[frozen-assignment] -- why", [(9, "JAX002", "frozen-assignment")]),
        ("# jaxlint: ignore -- why", [(9, "JAX002", "# jaxlint: ignore -- why")]),
        ("# jaxlint: ignore[JAX401, static-counter]", [(9, "JAX002", "JAX401"), (9, "JAX002", "static-counter")]),
        ("# noqa: JAX", [(9, "JAX002", "JAX")]),
        ("# noqa", []),
        ("# noqa: E501", []),
        ("# noqa: it is fine", []),
        ("# noqa: JAX109", []),
        ("# jaxlint: ignore[local-pytree-class]", []),
        ("# noqa: JAX402, JAX002", []),
        ("# noqa: JAX402, jax002", []),
        ("# jaxlint: ignore[JAX402, unused-suppression]", []),
        ("# noqa: JAX402, JAX0", [(9, "JAX002", "JAX402"), (9, "JAX002", "JAX0")]),
        ("# noqa: JAX402  # noqa: JAX002", []),
        ("# noqa: JAX402  # noqa", []),
        ("# jaxlint: ignore  # noqa: E501", [(9, "JAX002", "# jaxlint: ignore")]),
        ("# noqa: JAX002", []),
        ("# noqa: JAX003", []),
        ("# noqa: JAX999", [(9, "JAX003", "JAX999")]),
        ("# noqa: JAX999, JAX003", []),
        ("# noqa: F401, JAX999", [(9, "JAX003", "JAX999")]),
        ("# jaxlint: ignore[E501]", [(9, "JAX003", "E501")]),
        ("# jaxlint: ignore[frozen-asignment]", [(9, "JAX003", "frozen-asignment")]),
        ("# jaxlint: ignore[Frozen-Assignment]", [(9, "JAX003", "Frozen-Assignment")]),
        ("# jaxlint: ignore[]", [(9, "JAX003", "# jaxlint: ignore[]")]),
        ("# jaxlint: disable=JAX401", [(9, "JAX003", "# jaxlint: disable=JAX401")]),
        ("# jaxlint: ignore because", [(9, "JAX003", "# jaxlint: ignore because")]),
        ("# jaxlint: ignore[JAX401", [(9, "JAX003", "# jaxlint: ignore[JAX401")]),
        ("# jaxlint: ignore-line", [(9, "JAX003", "# jaxlint: ignore-line")]),
        ("# jaxlint: noqa", [(9, "JAX003", "# jaxlint: noqa")]),
        ("# jaxlint: ignore-file", [(9, "JAX003", "# jaxlint: ignore-file")]),
        ("# jaxlint: see the page of the rule", []),
        ("# how to jaxlint: disable it", []),
        ("# ruff: ignore[JAX402]", []),
    ],
)
def test_comments_that_are_good_for_nothing(comment: str, expected: list[tuple[int, str, str]]) -> None:
    assert said(GOOD.format("  " + comment)) == expected


@pytest.mark.parametrize(
    ("comment", "way"),
    [
        ("# jaxlint: disable=JAX401", "`# jaxlint: ignore[JAX401]`"),
        ("# jaxlint: ignore JAX401,frozen-assignment", "`# jaxlint: ignore[JAX401, frozen-assignment]`"),
        ("# jaxlint: noqa", "`# jaxlint: ignore[...]` or `# jaxlint: ignore-file`"),
        ("# jaxlint: disable=E501", "`# jaxlint: ignore[...]` or `# jaxlint: ignore-file`"),
    ],
)
def test_what_is_not_understood_is_written_anew_with_its_rules(comment: str, way: str) -> None:
    (finding,) = check_source(GOOD.format("  " + comment), "/f.py")
    assert finding.message == f"`{comment}` suppresses nothing; write {way}"


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: JAX401",
        "# noqa: JAX401, E501",
        "# noqa: JAX4",
        "# noqa",
        "# jaxlint: ignore",
        "# jaxlint: ignore[frozen-assignment] -- why",
        "# jaxlint: ignore[JAX401]  # noqa: JAX401",
    ],
)
def test_comments_that_are_good_for_something(comment: str) -> None:
    assert said(BAD.format("  " + comment)) == []


def test_comments_that_are_partly_good_for_something() -> None:
    assert said(BAD.format("  # noqa: JAX401, JAX402")) == [(9, "JAX002", "JAX402")]
    assert said(BAD.format("  # jaxlint: ignore[JAX4, JAX2]")) == [(9, "JAX002", "JAX2")]


def test_comments_for_the_file() -> None:
    assert said("# jaxlint: ignore-file\n" + BAD.format("")) == []
    assert said("# jaxlint: ignore-file[JAX401, JAX402]\n" + BAD.format("")) == [(1, "JAX002", "JAX402")]
    assert said("# jaxlint: ignore-file -- why\n" + GOOD.format("")) == [(1, "JAX002", "# jaxlint: ignore-file -- why")]
    # both comments are needless, and the first one hides what is said of the second
    assert said("# jaxlint: ignore-file\n" + GOOD.format("  # noqa: JAX402")) == [
        (1, "JAX002", "# jaxlint: ignore-file")
    ]
    assert said("# jaxlint: ignore-file[JAX002]\n" + GOOD.format("  # noqa: JAX402")) == []


@pytest.mark.parametrize(
    ("settings", "comment", "codes"),
    [
        (Settings(select=("JAX402", "JAX0")), "# noqa: JAX401", []),
        (Settings(select=("JAX402", "JAX0")), "# noqa: JAX402", ["JAX002"]),
        (Settings(select=("JAX402", "JAX0")), "# noqa: JAX4", []),
        (Settings(select=("JAX402", "JAX0")), "# jaxlint: ignore", []),
        (Settings(select=("JAX4", "JAX0")), "# noqa: JAX4", ["JAX002"]),
        (Settings(select=("JAX402",)), "# noqa: JAX402, JAX999", []),
        (Settings(ignore=("JAX402",)), "# noqa: JAX402", []),
        (Settings(ignore=("JAX002",)), "# noqa: JAX402, JAX999", ["JAX003"]),
        (Settings(extend_select=("JAX109",)), "# noqa: JAX109", ["JAX002"]),
        (Settings(per_file_ignores=(PerFileIgnore("/", "*.py", ("JAX402",)),)), "# noqa: JAX402", []),
        (Settings(per_file_ignores=(PerFileIgnore("/", "*.py", ("JAX002",)),)), "# noqa: JAX402", []),
        (Settings(per_file_ignores=(PerFileIgnore("/", "*.pyi", ("JAX402",)),)), "# noqa: JAX402", ["JAX002"]),
        (Settings(min_confidence=Confidence.HIGH), "# noqa: JAX402", []),
    ],
)
def test_only_rules_that_run_are_missed(settings: Settings, comment: str, codes: list[str]) -> None:
    assert [code for _, code, _ in said(GOOD.format("  " + comment), settings)] == codes


def test_comments_in_files_without_pytrees(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1  # noqa: JAX401\ny = 1  # noqa: E501\nz = '# noqa: JAX401'\n")
    assert [(f.row, f.code) for f in check_paths([str(path)]).findings] == [(1, "JAX002")]


def test_nothing_is_unused_where_something_was_not_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(GOOD.format("  # noqa: JAX401, JAX999"))
    rule = next(rule for rule in all_rules() if rule.code == "JAX402")

    def fail(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr(rule, "check_event", fail)
    result = check_paths([str(path)])
    assert [f.code for f in result.findings] == ["JAX003"]
    assert len(result.errors) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x  # noqa: JAX401", True),
        ("x  # NoQA:e501,jax401", True),
        ("x  #jaxlint:ignore", True),
        ("x  # noqa", False),
        ("x  # noqa: E501\n# JAX", False),
        ("jax  # noqable: JAX401", False),
    ],
)
def test_mentions_jaxlint(text: str, expected: bool) -> None:
    assert mentions_jaxlint(text) is expected


def test_a_hidden_certainty_hides_the_guesses_about_it() -> None:
    """A guess yields to a certain finding about the same thing even if a comment hides that."""
    guess = msgspec.structs.replace(finding(2), confidence=Confidence.LOW, subject="S.x")
    certain = msgspec.structs.replace(finding(1), subject="S.x", suppressed="# noqa")
    assert [f for f in ordered([guess, certain]) if not f.suppressed] == []
    assert ordered([guess]) == [guess]
