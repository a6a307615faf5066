"""Where findings stand: on nodes of libcst, and a comment at any row of their statement hides them, and at no other.

`ast` finds the places; libcst, which reads the rows of a finding in production and the whole file here, says what they
are.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from jaxlint import check_source
from jaxlint.config.settings import Settings
from jaxlint.cst.anchors import Anchors, anchor
from jaxlint.cst.trees import Tree
from jaxlint.finding import Finding
from jaxlint.linter.engine import check_paths
from jaxlint.rules import all_rules
from jaxlint.syntax.expressions import Span
from jaxlint.syntax.source import Source
from tests.fixes.test_generated_programs import program
from tests.oracle import cases
from tests.oracle.linting import linted
from tests.rules.test_fixtures_run import ABOUT_COMMENTS

#: First row, first column (from 0), last row, and the column behind it.
Range = tuple[int, int, int, int]

#: Statements with a finding that nothing fixes, and others with more rows; `>` is one more level of indentation.
UNFIXED = [
    "del state.step",
    "del (\n>state\n).step",
    "del state.step, \\\n>state.board",
    "for state.step in (\n>1,\n>2,\n):\n>print(x)",
    "with open(\n>x\n) as state.step:\n>print(x)",
    "print('é'); del state.step; print(\n>x\n)",
    "if x: del state.step",
    "(\n>state\n>.replace(\n>>step=x,\n>)\n)",
    "state.board[\n>x,\n>1:\n] += (\n>1\n)",
    "state.step = '''\nnot a comment: #\n'''",
]


def ranges(module: cst.Module) -> dict[cst.CSTNode, Range]:
    """Where each node of a module stands."""
    found = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    return {node: _range(place) for node, place in found.items() if isinstance(place, CodeRange)}


def _range(place: CodeRange) -> Range:
    return place.start.line, place.start.column, place.end.line, place.end.column


def anchors(places: dict[cst.CSTNode, Range]) -> set[Range]:
    """The places of nodes, and of their heads: `def name`, a parameter without its default, what stands in brackets."""
    found = set(places.values())
    for node, (row, column, end_row, end_column) in places.items():
        if isinstance(node, cst.FunctionDef):
            name_row, name_column, *end = places[node.name]
            found |= {(name_row, name_column - back, end[0], end[1]) for back in (len("def "), len("async def "))}
        if isinstance(node, cst.Param) and node.annotation is not None:
            found.add((row, column, *places[node.annotation][2:]))
        if isinstance(node, cst.BaseExpression) and node.lpar and row == end_row:
            found.add((row, column - 1, end_row, end_column + 1))
    return found


def is_in_comment(at: Range, places: dict[cst.CSTNode, Range]) -> bool:
    """Whether a place is a part of a comment."""
    comments = (place for node, place in places.items() if isinstance(node, cst.Comment))
    return any(row == at[0] == at[2] and start <= at[1] and at[3] <= end for row, start, _, end in comments)


def place_of(finding: Finding) -> Range:
    return finding.row, finding.column - 1, finding.end_row, finding.end_column - 1


def test_findings_stand_on_nodes(is_thorough: bool, stored: Path) -> None:
    some = cases.rotated(cases.programs())
    found = linted(some, stored)
    wrong = []
    looked_at = 0
    for one in some if is_thorough else some[::5]:
        for name in {finding.path for finding in found.get(one.id, [])}:
            places = ranges(cst.parse_module(one.files[name]))
            known = anchors(places)
            ours = [place_of(finding) for finding in found[one.id] if finding.path == name]
            wrong += [f"{one.id}/{name}: {at}" for at in ours if at not in known and not is_in_comment(at, places)]
            looked_at += 1
    assert not wrong, "\n".join(wrong)
    assert looked_at > 100


def test_every_finding_is_looked_for(is_thorough: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is put on its node, but for those in comments; and there is one."""
    asked: list[tuple[Span, Span | None]] = []
    of = Anchors.of

    def watched(anchors: Anchors, place: Span) -> Span | None:
        asked.append((place, of(anchors, place)))
        return asked[-1][1]

    monkeypatch.setattr(Anchors, "of", watched)
    some = cases.rotated(cases.programs())
    for one in some if is_thorough else some[::20]:
        one.write(tmp_path)
    found = check_paths([str(tmp_path)], Settings(select=tuple(rule.code for rule in all_rules()))).findings
    about_code = [finding for finding in found if finding.name not in ABOUT_COMMENTS]
    assert len(about_code) > 40
    assert [place for place, at in asked if at is None] == []
    assert len(asked) >= len(about_code)


STATE = "@struct.dataclass\nclass State:\n    step: int = 0\n\n\n"


@pytest.mark.parametrize(
    ("code", "at", "expected"),
    [
        ("state.step = 1", (1, 0, 1, 10), (1, 0, 1, 10)),
        ("é = (state.step)", (1, 4, 1, 16), (1, 4, 1, 16)),
        ("def f(x: int = 1): pass", (1, 0, 1, 5), (1, 0, 1, 5)),
        ("def f(x: int = 1): pass", (1, 6, 1, 12), (1, 6, 1, 12)),
        ("async def f(): pass", (1, 0, 1, 11), (1, 0, 1, 11)),
        ("f(a.b, c)", (1, 3, 1, 5), (1, 2, 1, 5)),
        ("f(a, b, c)", (1, 2, 1, 6), (1, 0, 1, 10)),
        ("a = b; c = d", (1, 7, 1, 10), (1, 7, 1, 12)),
        ("if a:\n    pass", (1, 0, 1, 2), None),
        ("if a:\n    pass", (7, 0, 7, 2), None),
    ],
)
def test_what_is_no_node_is_a_part_of_one(code: str, at: Range, expected: Range | None) -> None:
    tree = Tree.parse(Source.from_text("/f.py", code + "\n"), (1, code.count("\n") + 1))
    assert tree is not None
    assert anchor(tree, Span(*at)) == expected


def test_a_finding_is_moved_to_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "from flax import struct\n\n\n" + STATE + "def f(state: State) -> None:\n    state.step = 1\n"
    (finding,) = check_source(text)
    assert place_of(finding) == (10, 4, 10, 14)
    monkeypatch.setattr("jaxlint.linter.checker.Checker._place", lambda *_: (10, 6, 10, 15))  # "tate.step"
    (finding,) = check_source(text)
    assert place_of(finding) == (10, 4, 10, 14)


@pytest.mark.parametrize("deep", ["1" + " + 1" * 3000, "not " * 3000 + "1", "a" + ".b" * 3000])
def test_what_libcst_cannot_read_stays_where_ast_found_it(deep: str) -> None:
    head = "from flax import struct\n\n\n" + STATE + "def f(state: State, a) -> None:\n    state.step = 1\n"
    text = head + f"    {deep}\n"
    finding = check_source(text)[0]
    assert place_of(finding) == (10, 4, 10, 14)
    assert finding.fix is None


def rows_of_statement(at: Range, places: dict[cst.CSTNode, Range]) -> range:
    """The rows of the innermost statement around a place; of a compound one, those of its head."""
    best = range(10**6)
    for node, (row, _, end_row, _) in places.items():
        body = getattr(node, "body", None)
        if isinstance(node, cst.SimpleStatementLine):
            rows = range(row, end_row + 1)
        elif isinstance(node, cst.BaseCompoundStatement) and isinstance(body, cst.BaseSuite):
            rows = range(row, (places[body.header][0] if isinstance(body, cst.IndentedBlock) else end_row) + 1)
        else:
            continue
        if at[0] in rows and at[2] in rows and len(rows) <= len(best):
            best = rows
    return best


def layouts(rng: random.Random, number: int) -> Iterator[str]:
    """Generated programs, and one for each statement that nothing fixes."""
    head = program(random.Random(0)).replace("\r\n", "\n").partition("def f")[0].partition("class C")[0]
    head = head[: head.index("step: int = 0") + len("step: int = 0\n")]
    for statement in UNFIXED:
        body = "\n".join("    " + line for line in statement.replace(">", "    ").split("\n"))
        yield f"{head}\n\ndef f(state: State, x):\n    print(1)\n{body}\n    print(2)\n    return state\n"
    for _ in range(number):
        yield program(rng)


def with_comment(text: str, row: int, code: str) -> str | None:
    """A program with a suppression at the end of a row; None if no comment can stand there."""
    lines = text.splitlines(keepends=True)
    line = lines[row - 1].rstrip("\r\n")
    if line.endswith("\\") or "#" in line or "'''" in line:
        return None
    lines[row - 1] = line + f"  # jaxlint: ignore[{code}]" + lines[row - 1][len(line) :]
    return "".join(lines)


def test_comments_hide_what_stands_in_their_statement(is_thorough: bool) -> None:
    settings = Settings(select=("JAX401", "JAX402", "JAX403", "JAX413"))
    tried = 0
    for text in layouts(random.Random(18), 300 if is_thorough else 12):
        places = ranges(cst.parse_module(text))
        findings = check_source(text, settings=settings)
        assert findings, text
        for finding in findings:
            inside = rows_of_statement(place_of(finding), places)
            for row in range(max(1, inside[0] - 1), min(len(text.splitlines()), inside[-1] + 1) + 1):
                commented = with_comment(text, row, finding.code)
                if commented is None:
                    continue
                left = [one for one in check_source(commented, settings=settings) if place_of(one) == place_of(finding)]
                tried += 1
                others = {rows_of_statement(place_of(one), places) for one in findings if one is not finding}
                if row in inside:
                    assert not left, commented
                elif not any(row in rows for rows in others):
                    assert left, commented
    assert tried > 100
