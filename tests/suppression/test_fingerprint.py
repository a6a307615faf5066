"""Fingerprints of findings: the same while something else changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxlint.finding import Confidence, Finding, Severity
from jaxlint.suppression.fingerprint import file_lines, fingerprints


def finding(row: int, path: str = "/p/a.py", code: str = "JAX401", column: int = 1) -> Finding:
    return Finding(path, row, column, row, column + 1, code, "name", "message", Severity.ERROR, Confidence.HIGH)


def prints(text: str, *findings: Finding, base: str = "/p") -> list[str]:
    return fingerprints(findings, lambda path: text.split("\n"), base)


def test_the_digest_is_that_of_every_version() -> None:
    """Baselines hold fingerprints: another digest makes every one of them worthless."""
    assert prints("state.x = 1", finding(1)) == ["9b60329bc9cef78b5e7a08bb59ef7953"]


def test_edits_elsewhere_change_nothing() -> None:
    before = prints("a\nb.x = 1\nc", finding(2))
    assert prints("\n\n# more\nb.x = 1\nc\nd", finding(4)) == before
    assert prints("if a:\n    \tb.x  =  1  \r", finding(2, column=6)) == before


def test_what_makes_a_difference() -> None:
    text = "b.x = 1\nb.x = 2"
    found = {
        *prints(text, finding(1)),
        *prints(text, finding(2)),
        *prints(text, finding(1, code="JAX402")),
        *prints(text, finding(1, path="/p/b.py")),
        *prints(text, finding(1, path="/q/a.py")),
    }
    assert len(found) == 5


def test_equal_lines_are_counted() -> None:
    text = "b.x = 1\nb.y = 1\nb.x = 1"
    both = prints(text, finding(1), finding(2), finding(3))
    assert len(set(both)) == 3
    assert both[0] == prints(text, finding(1))[0]
    assert prints(text, finding(1), finding(1, code="JAX402"), finding(3))[2] == both[2]


def test_the_place_of_the_project_does_not_matter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    one = prints("x", finding(1, "/one/pkg/a.py"), base="/one")
    assert prints("x", finding(1, "/two/pkg/a.py"), base="/two/") == one
    monkeypatch.chdir(tmp_path)
    assert fingerprints([finding(1, os.path.abspath("pkg/a.py"))], lambda path: ["x"]) == one


@pytest.mark.parametrize("row", [0, 1, 2])
def test_lines_that_are_not_there(row: int) -> None:
    assert fingerprints([finding(row)], lambda path: [], "/p") == prints("", finding(1))


def test_lines_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes("# coding: latin-1\r\n'é\f'\r\n".encode("latin-1"))
    assert file_lines(str(path)) == ["# coding: latin-1", "'é\f'"]
    path.write_bytes(b"'\xff'")
    assert file_lines(str(path)) == []
    assert file_lines(str(tmp_path / "gone.py")) == []


@given(
    st.lists(st.sampled_from(["a", " a", "b", "", "\udcff", "é\t"]), max_size=6),
    st.lists(st.tuples(st.integers(0, 7), st.sampled_from(["/p/a.py", "/p/\udcff.py"])), max_size=9),
)
def test_every_finding_has_its_own(lines: list[str], places: list[tuple[int, str]]) -> None:
    found = fingerprints([finding(row, path) for row, path in places], lambda path: lines, "/p")
    assert len(found) == len(set(found)) == len(places)
