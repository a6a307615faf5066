"""Where the nodes of a tree stand is what libcst says, and the text that it is printed as."""

from __future__ import annotations

import random

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from jaxlint.cst.positions import Positions
from tests.cst.test_anchors import layouts
from tests.oracle import cases

ODD = (
    "if 1:\r\n\tdef f(a, *, b=(1,\r\n\t\t2)): return (a), [x async for x in b]  # a comment\r\n"
    "\t@g\r\n\tclass C: ...\\\r\n"
)


def test_the_same_as_libcst(is_thorough: bool) -> None:
    """In fixtures, in generated programs of odd layout, and in rows that are indented."""
    fixtures = [text for program in cases.programs()[:: 60 if is_thorough else 180] for text in program.files.values()]
    seen = 0
    for text in (*fixtures, *layouts(random.Random(23), 10), ODD, ODD.rstrip("\\\r\n"), "", "\n", "x = 1"):
        try:
            module = cst.parse_module(text)
        except cst.ParserSyntaxError:
            continue
        positions = Positions(module, 1)
        assert positions.code == module.code
        found = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
        places = [place for place in found.values() if isinstance(place, CodeRange)]
        expected = [(p.start.line, p.start.column, p.end.line, p.end.column) for p in places]
        assert [id(node) for node in found] == [id(node) for node in positions.nodes]
        assert [positions.places[id(node)] for node in positions.nodes] == expected
        seen += len(expected)
    assert seen > 10_000
