"""Where arguments are added and taken out: lines, commas and comments."""

from __future__ import annotations

import libcst as cst
import pytest

from jaxlint.cst.calling import edited
from jaxlint.cst.rewriting import CannotChange

#: Calls, with `new=v` added, and without `b`.
TABLE = [
    ("f()", "f(new=v)", "f()"),
    ("f(\n)", "f(new=v)", "f()"),
    ("f(a, b=2)", "f(a, b=2, new=v)", "f(a)"),
    ("f(a, b=2,)", "f(a, b=2, new=v,)", "f(a,)"),
    ("f(a,\n  b=2)", "f(a,\n  b=2,\n  new=v)", "f(a)"),
    ("f(\n    a=1,\n)", "f(\n    a=1,\n    new=v,\n)", "f(\n    a=1,\n)"),
    ("f(\n    b=1,\n)", "f(\n    b=1,\n    new=v,\n)", "f()"),
    ("f(\n    a, b=2\n)", "f(\n    a, b=2, new=v\n)", "f(\n    a\n)"),
    ("f(  # f\n    b=2\n)", "f(  # f\n    b=2,\n    new=v\n)", "f(  # f\n    )"),
    (
        "f(\n    a=1,  # one\n    b=2,\n)",
        "f(\n    a=1,  # one\n    b=2,\n    new=v,\n)",
        "f(\n    a=1,  # one\n)",
    ),
    (
        "f(\n    a=1,  # one\n    b=2  # two\n)",
        "f(\n    a=1,  # one\n    b=2,  # two\n    new=v\n)",
        "f(\n    a=1  # one\n)",
    ),
    ("f(a=1,  # one\n  b=2)", "f(a=1,  # one\n  b=2,\n  new=v)", "f(a=1  # one\n  )"),
    (
        "f(\n    b=1,  # one\n    a=2,  # two\n)",
        "f(\n    b=1,  # one\n    a=2,  # two\n    new=v,\n)",
        "f(\n    a=2,  # two\n)",
    ),
    (
        "f(\n    a=1,\n\n    # second\n    b=2,\n    # end\n)",
        "f(\n    a=1,\n\n    # second\n    b=2,\n    new=v,\n    # end\n)",
        "f(\n    a=1,\n\n    # second\n    # end\n)",
    ),
]


def code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def call(text: str) -> cst.Call:
    parsed = cst.parse_expression(text)
    assert isinstance(parsed, cst.Call)
    return parsed


@pytest.mark.parametrize(("before", "added", "dropped"), TABLE)
def test_calls(before: str, added: str, dropped: str) -> None:
    assert code(edited(call(before), {"new": cst.Name("v")})) == added
    assert code(edited(call(before), {}, ["b"])) == dropped


def test_a_comment_about_the_next_argument_does_not_go() -> None:
    with pytest.raises(CannotChange):
        edited(call("f(\n    b=1,\n    # about a\n    a=2,\n)"), {}, ["b"])
