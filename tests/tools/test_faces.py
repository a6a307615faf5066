"""Comparing the two front ends over a source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.needs import needs
from tools.ecosystem.faces import compare, typed
from tools.ecosystem.ledger import Found, Place

needs("flax")

_PROGRAM = """\
import jax
from flax import struct

@struct.dataclass
class S:
    x: jax.Array
    n: int = 0

def f(s: S) -> S:
    s.n = 1
    return s.replace(m=2)
"""


def _found(row: int, code: str) -> Found:
    return Found(Place("source", "package/states.py", row, code), "high", "")


def test_compare() -> None:
    reported = {
        ("package/states.py", 10): ["`S` is frozen  [jaxlint-frozen-assignment]"],
        ("package/states.py", 11): ['Unexpected keyword argument "m"  [call-arg]'],
        ("package/states.py", 12): [
            "it is an array  [jaxlint-static-array-field]",
            "hashed  [jaxlint-unhashable-instance]",
        ],
    }
    found = [_found(10, "JAX401"), _found(11, "JAX402"), _found(11, "JAX503"), _found(13, "JAX401")]
    faces = compare(found, reported)
    assert (faces.both, faces.left) == (2, 1)
    assert [one.place.row for one in faces.only_check] == [13]
    assert faces.only_mypy == [("package/states.py", 12, "JAX201")]


def test_typed(tmp_path: Path, small: str) -> None:
    package = tmp_path / "source" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "states.py").write_text(_PROGRAM, encoding="utf-8")
    reported = typed(tmp_path / "source", tmp_path / "cache")
    assert {place: [text.rpartition("  ")[2] for text in texts] for place, texts in reported.items()} == {
        ("package/states.py", 10): ["[jaxlint-frozen-assignment]"],
        ("package/states.py", 11): ["[call-arg]"],
    }


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> str:
    """A jax and a flax of a few lines, which mypy reads at once."""
    folder = str(Path(__file__).parents[1] / "mypy" / "small")
    monkeypatch.setenv("MYPYPATH", folder)
    return folder
