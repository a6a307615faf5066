"""What is read in a body, found out at once, is what `reads` and `names_in` find name by name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from jaxlint.syntax.expressions import Lambda
from jaxlint.syntax.from_ast import to_body
from jaxlint.syntax.names_read import names_captured, names_in, names_inside, names_read, reads
from jaxlint.syntax.statements import Body, FunctionDefinition, all_parts, expressions, own_parts, walk

FIXTURES = sorted((Path(__file__).resolve().parents[2] / "fixtures").glob("*/*.py"))
TRICKY = """
def f(a, b=d):
    c = [a for a in b if (n := a)]
    g = lambda a, *, k=e: a + k + c
    a.x, (b[i], *c) = [lambda: n for n in z], 1
    def h(a):
        c = 1
        return a + c + outer
    class D:
        y: T = a
    del a[j]
    w += v
    return {p: q for p, q in a.items() for r in p}
"""


def captured_by_name(body: Body, name: str) -> bool:
    """The answer for one name, by the functions that ask for one name."""
    for statement in walk(body, nested=False):
        if isinstance(statement, FunctionDefinition) and any(reads((statement,), name)):
            return True
        if any(isinstance(part, Lambda) and any(names_in(part, name)) for part in own_parts(statement)):
            return True
    return False


@pytest.mark.parametrize("path", [None, *FIXTURES[::12]], ids=str)
def test_the_same_as_name_by_name(path: Path | None) -> None:
    tree = ast.parse(TRICKY if path is None else path.read_text())
    names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
    names += sorted({node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)})
    body = to_body(tree.body)
    bodies = [body, *(s.body for s in walk(body) if isinstance(s, FunctionDefinition))]
    for one in bodies:
        assert names_read(one) == {name for name in names if any(reads(one, name))}
        assert names_captured(one) == {name for name in names if captured_by_name(one, name)}
    for expr in (expr for statement in walk(body) for expr in expressions(statement)):
        assert names_inside(expr) == {name for name in names if any(names_in(expr, name))}
    assert path is not None or len(list(all_parts(body))) > 40
