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


def test_what_rules_share_is_an_analysis() -> None:
    """No rule imports from another one; the engine names the one that says what it could not read."""
    found = {}
    for path in [*(ROOT / "jaxlint").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]:
        named = {
            node.module or ""
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jaxlint.rules.")
        }
        rules = {name for name in named if name.count(".") == 2 and not name.endswith((".base", ".plugins"))}
        found[path.name] = rules - {"jaxlint.rules.unreadable_file"}
    # what JAX402 and JAX404 say of calls is what mypy's own errors leave out
    assert found.pop("front.py") == {"jaxlint.rules.replace_unknown_field", "jaxlint.rules.no_replace_method"}
    assert {name: rules for name, rules in found.items() if rules} == {}
