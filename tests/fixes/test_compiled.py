"""A fix is not made if Python would refuse the file after it, though it can be parsed."""

from __future__ import annotations

import pytest

from jaxlint.fixes.rounds import why_not_compiled

REFUSED = {
    "f(x=1, x=2)": "keyword argument repeated: x",
    "return 1": "'return' outside function",
    "def f(x, x): pass": "duplicate argument 'x' in function definition",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_python_would_refuse(text: str) -> None:
    assert REFUSED[text] in (why_not_compiled(text) or "")


@pytest.mark.parametrize("text", ["f(x=1, y=2)", "x = '\\d'", "1" + " + 1" * 5000])
def test_what_it_would_take(text: str) -> None:
    assert why_not_compiled(text) is None
