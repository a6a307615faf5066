"""Which names a body reads: those of the scope around it, not those that a scope inside has of its own."""

from __future__ import annotations

import ast

import pytest

from jaxlint.syntax.from_ast import to_body
from jaxlint.syntax.names_read import reads

PROGRAMS = {
    "f(x)": 1,
    "x = 1": 0,
    "x.a = x[0] = 1": 2,
    "y = [x for x in items]": 0,
    "y = [x for x in x]": 1,
    "y = [z for z in items if x]": 1,
    "y = [z for x in items for z in x]": 0,
    "y = {z: x for z in items}": 1,
    "y = lambda x: x": 0,
    "y = lambda *, x: x": 0,
    "y = lambda *x: x": 0,
    "y = lambda **x: x": 0,
    "y = lambda x=x: x": 1,
    "y = (x := 1)": 0,
    "def f(x): return x": 0,
    "def f(*, x): return x": 0,
    "def f(*x): return x": 0,
    "def f(y=x): return x": 2,
    "def f(x=x): return x": 1,
    "def f():\n    x = 1\n    return x": 0,
    "def f():\n    nonlocal x\n    x += x": 2,
    "def f():\n    def g(x): return x\n    return x": 1,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_reads(program: str) -> None:
    """Each read of `x` that is the variable of the program's own scope."""
    assert len(list(reads(to_body(ast.parse(program).body), "x"))) == PROGRAMS[program]
