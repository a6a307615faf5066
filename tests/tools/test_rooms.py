"""Opening `jaxlint/`, one sees the rooms; each says in a few lines what lives there, and has its tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = sorted(path.parent for path in (ROOT / "jaxlint").glob("*/__init__.py"))
#: Words of our own that names were made of before; the field has others.
OLD_WORDS = frozenset(
    "knowledge know knows told lesson lessons learn learnt loud silence kept lacking crossing crossings".split()
)


@cache
def parsed() -> dict[Path, ast.Module]:
    """The modules of jaxlint and its plugins."""
    files = [*(ROOT / "jaxlint").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}


def names_given(tree: ast.Module) -> Iterator[str]:
    """The names that a module gives to functions, classes, parameters, variables and attributes."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.arg(arg=name)
            ):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def test_names_are_made_of_words_of_the_field() -> None:
    found = {(path.name, name) for path, tree in parsed().items() for name in names_given(tree)}
    words = {one: set(re.findall("[A-Z]?[a-z]+|[A-Z]+", one[1])) for one in found}
    assert [one for one in sorted(found) if {word.lower() for word in words[one]} & OLD_WORDS] == []


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
    for path, tree in parsed().items():
        named = {
            node.module or ""
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jaxlint.rules.")
        }
        rules = {name for name in named if name.count(".") == 2 and not name.endswith((".base", ".plugins"))}
        found[path.name] = rules - {"jaxlint.rules.unreadable_file"}
    # what JAX402 and JAX404 say of calls is what mypy's own errors leave out
    assert found.pop("front.py") == {"jaxlint.rules.replace_unknown_field", "jaxlint.rules.no_replace_method"}
    assert {name: rules for name, rules in found.items() if rules} == {}
