"""Suppression comments: which are read, what they name, for which rows they hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxlint.finding import Confidence, Finding, Severity
from jaxlint.source import Source
from jaxlint.suppress import Kind, Selector, Suppression, apply, suppressions


def finding(row: int, code: str = "JAX401", name: str = "frozen-assignment") -> Finding:
    return Finding("/f.py", row, 1, row, 2, code, name, "message", Severity.ERROR, Confidence.HIGH)


def left(text: str, *findings: Finding) -> list[tuple[int, str]]:
    kept = apply(Source.from_text("/f.py", text), list(findings))
    return [(one.row, one.code) for one in kept]


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
    kept = [row for row, _ in left(LOGICAL_LINES, *(finding(row) for row in rows))]
    # The text in a string is no comment; a comment on a line of its own holds for nothing but that line.
    assert kept == [5, 6, 7, 19, 21]


def test_text_in_strings_is_no_comment() -> None:
    assert left("x = '# noqa'\ny = '''\n# jaxlint: ignore-file\n'''\n", finding(1), finding(3)) == [
        (1, "JAX401"),
        (3, "JAX401"),
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x = 1\n    # jaxlint: ignore-file\n", []),
        ("# jaxlint: ignore-file -- generated\nx = 1\n", []),
        ("# Copyright # jaxlint: ignore-file\nx = 1\n", []),
        ("x = 1  # jaxlint: ignore-file\n", [(1, "JAX401"), (2, "JAX201")]),
        ("# jaxlint: ignore-file[JAX401]\nx = 1\n", [(2, "JAX201")]),
        ("# jaxlint: ignore-file[static-array-field]\nx = 1\n", [(1, "JAX401")]),
    ],
)
def test_ignore_file(text: str, kept: list[tuple[int, str]]) -> None:
    assert left(text, finding(1), finding(2, "JAX201", "static-array-field")) == kept


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


def test_no_findings_no_work() -> None:
    assert apply(Source.from_text("/f.py", "# noqa\n"), []) == []


@given(st.text(alphabet="#noqa: jxlint[]JAX401-\n'\"\\() \t\r\x0cé"), st.integers(1, 5))
def test_never_raises_and_never_invents(text: str, row: int) -> None:
    assert left(text, finding(row)) in ([], [(row, "JAX401")])
    assert left(text, finding(row, "JAX001", "unreadable-file")) == [(row, "JAX001")]
