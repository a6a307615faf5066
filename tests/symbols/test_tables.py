"""Long tables of literals are left out before a text is parsed, and nothing else is."""

from __future__ import annotations

import ast

import pytest

from jaxlint.symbols.tables import without_tables

_NUMBERS = range(2_000)
_TABLES = {
    "numbers": "[" + ", ".join(f"{n}.5e-3" for n in _NUMBERS) + "]",
    "rows": "(\n" + "".join(f"    [{n}, -2, +3j],\n" for n in _NUMBERS) + ")",
    "blocks": "[" + ",\n".join(f"[[{n}, 2], ['a', None]]" for n in _NUMBERS) + "]",
    "names": "{" + ", ".join(f'"k{n}": "value, {n}"' for n in _NUMBERS) + "}",
    "records": "[" + ",\n".join(f'{{"a": {n}, "b": [True, 0x1f]}}' for n in _NUMBERS) + "\n]",
}


@pytest.mark.parametrize("kind", _TABLES)
def test_blanks_stand_for_the_items(kind: str) -> None:
    text = f"x = 1\ntable = {_TABLES[kind]}\ny = f(2, 3)\n"
    short = without_tables(text)
    assert len(short) == len(text)
    assert [len(row) for row in short.split("\n")] == [len(row) for row in text.split("\n")]
    assert sum(1 for _ in ast.walk(ast.parse(short))) < 100
    assert short.endswith("\ny = f(2, 3)\n")


@pytest.mark.parametrize(
    "text",
    [
        "f(1, 2, 3)\n" * 500,
        "x = [" + ", ".join(f"name{n}" for n in _NUMBERS) + "]\n",
        "x = [" + ", ".join(f"g({n})" for n in _NUMBERS) + "]\n",
        "x = [1, 2, 3, *y]\n",
        "[" * 5_000,
        "'" * 5_000 + '"' * 5_000,
    ],
)
def test_other_text_stays(text: str) -> None:
    assert without_tables(text) == text


_LONG = range(80_000)
_NAMES = ", ".join(f"some_name_{n}" for n in _LONG)
_NAMED_TABLES = {
    "names": f"[{_NAMES}]",
    "attributes": "{" + ", ".join(f"package.name{n}" for n in _LONG) + "}",
    "calls": "[" + ",\n".join(f"Point({n}, y=make(a.b, 'c'))" for n in _LONG) + "]",
    "entries": "{" + ",\n".join(f"'k{n}': a_function_{n}" for n in _LONG) + "}",
    "rows": "(\n" + ",\n".join(f"(first_{n}, -2.5, f(3))" for n in _LONG) + "\n)",
}


@pytest.mark.parametrize("kind", _NAMED_TABLES)
def test_the_first_items_with_names_stay(kind: str) -> None:
    text = f"x = 1\ntable = {_NAMED_TABLES[kind]}\ny = f(2, 3)\n"
    short = without_tables(text)
    assert [len(row) for row in short.split("\n")] == [len(row) for row in text.split("\n")]
    tree = ast.parse(short)
    assert 200 <= sum(1 for _ in ast.walk(tree)) < 3_000
    assert short.endswith("\ny = f(2, 3)\n")


@pytest.mark.parametrize(
    "text",
    [
        f"from names import ({_NAMES})\n",
        f"def f({_NAMES}):\n    pass\n",
        f"call({_NAMES})\n",
        f"{_NAMES} = numbers\n",
        "x = [\n" + "    f(a, b, c + 1),\n" * 60_000 + "]\n",
    ],
)
def test_names_that_are_no_table_stay(text: str) -> None:
    assert without_tables(text) == text
