"""Opening `jaxlint/`, one sees the rooms; each says in a few lines what lives there, and has its tests."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = sorted(path.parent for path in (ROOT / "jaxlint").glob("*/__init__.py"))


def test_few_things_stand_at_the_top() -> None:
    assert len(list((ROOT / "jaxlint").glob("*.py"))) <= 4
    assert len(ROOMS) <= 16


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_is_introduced_and_tested(room: Path) -> None:
    tour = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert tour.startswith(f"{room.name.capitalize()}: ")
    assert 3 <= len(tour.splitlines()) <= 6
    assert {"Imports", "imports"} & set(tour.split())  # what it may import
    assert list((ROOT / "tests" / room.name).glob("test_*.py"))
