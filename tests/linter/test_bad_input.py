"""Files that are broken, strange or huge: what can be checked is checked, the rest is said, nothing crashes.

Every file holds known bugs around its strange part, so that each test shows how much was checked.
"""

from __future__ import annotations

import ast
import json
import sys
import time
from pathlib import Path

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxlint import check_paths
from jaxlint.syntax.deep_stack import with_deep_stack
from jaxlint.syntax.source import Source, Unreadable
from tests.linter.one_file import HEAD, NEXT, STEP, Row, check, message, run
from tests.oracle import cases

# -- text that is not Python -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected", "says"),
    [
        (HEAD + STEP + "def (\n", ("JAX001", 11, 5), "invalid syntax"),
        (HEAD + STEP + "x = [1,\n", ("JAX001", 11, 5), "'[' was never closed"),
        (HEAD + "\tif x:\n    y\n", None, "invalid syntax: "),
        (HEAD + STEP + "\\", ("JAX001", 11, 2), "unexpected EOF"),
        (HEAD + STEP + "x = 'a\n", ("JAX001", 11, 5), "unterminated string literal"),
        (HEAD + STEP + "x = 1\0\n", ("JAX001", 11, 6), "contains a null byte"),
        (b"\0" * 100, ("JAX001", 1, 1), "contains a null byte"),
        ((HEAD + STEP).encode("utf-16"), ("JAX001", 1, 1), "byte 0xff is not valid utf-8"),
        (HEAD.encode() + b'x = "\xe9"\n', ("JAX001", 9, 6), "byte 0xe9 is not valid utf-8"),
        (b"# coding: nonsense\n" + HEAD.encode(), ("JAX001", 1, 11), "declares `nonsense`"),
        (HEAD + STEP + "return = 1\n", ("JAX001", 11, 8), "invalid syntax"),
    ],
)
def test_unreadable_text(tmp_path: Path, content: str | bytes, expected: Row | None, says: str) -> None:
    found = check(tmp_path, content)
    assert len(found) == 1
    if expected is not None:
        assert found == [expected]
    assert says in message(tmp_path / "main.py")
    (tmp_path / "good.py").write_text(HEAD + STEP)
    both = check_paths([str(tmp_path)])
    assert sorted((Path(f.path).name, f.code) for f in both.findings) == [("good.py", "JAX401"), ("main.py", "JAX001")]


def test_unreadable_text_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(HEAD + STEP)
    (tmp_path / "null.py").write_bytes(b"x = \0")
    (tmp_path / "syntax.py").write_text("def (\n")
    done = run(".", cwd=tmp_path)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert [line.split(" ")[:2] for line in lines[:3]] == [
        ["good.py:10:5:", "JAX401"],
        ["null.py:1:5:", "JAX001"],
        ["syntax.py:1:5:", "JAX001"],
    ]
    assert lines[3:] == ["Found 3 errors.", "1 unsafe fix available with `--fix --unsafe-fixes`."]
    assert done.stderr == ""


def test_suppressed_everywhere_but_not_clean(tmp_path: Path) -> None:
    """A file that cannot be read cannot be suppressed from inside."""
    found = check(tmp_path, "# jaxlint: ignore-file\nx = (\n")
    assert [code for code, _, _ in found] == ["JAX001"]


# -- text in another dress -------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        HEAD + STEP,
        HEAD + STEP.rstrip("\n"),
        "\ufeff" + HEAD + STEP,
        (HEAD + STEP).replace("\n", "\r\n"),
        (HEAD + STEP).replace("\n", "\r"),
        HEAD.replace("\n", "\r\n") + STEP,
        HEAD.replace("\n\n", "\n\f\n") + STEP,
        HEAD[:-1] + "\f\n" + STEP,
        HEAD + "\f" + STEP,
        HEAD + STEP.replace("    ", "\t"),
        HEAD + STEP + "\x0c",
        HEAD + STEP + "\n" * 1000,
        HEAD + STEP + "# no end",
    ],
)
def test_bom_line_ends_and_white_space(tmp_path: Path, content: str) -> None:
    column = 2 if "\t" in content else 5
    assert check(tmp_path, content) == [("JAX401", NEXT + 1, column)]


@pytest.mark.parametrize("encoding", ["latin-1", "iso-8859-15", "cp1252", "utf-8"])
def test_declared_encoding(tmp_path: Path, encoding: str) -> None:
    text = f"# -*- coding: {encoding} -*-\n" + HEAD + STEP.replace("    state", '    "é"; state')
    assert check(tmp_path, text.encode(encoding)) == [("JAX401", NEXT + 2, 10)]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('    "😀😀"; state.x = 1\n', [(1, 11)]),
        ('    "\u0301é漢"; state.x = 1\n', [(1, 12)]),
        ("    state.x = 1; y = 2; state.x = 3\n", [(1, 5), (1, 25)]),
        ("    state \\\n        .x \\\n        = 1\n", [(1, 5)]),
        ("    y = 1; \\\n    state.x = 1\n", [(2, 5)]),
        ("    (state\n     .x) = 1\n", [(1, 6)]),
        ('    y = """\n\n    """; state.x = 1\n', [(3, 10)]),
        ("\tif 1:\n\t\tstate.x = 1\n", [(2, 3)]),
        ("        # odd\n  # odd\n    state.x = 1\n", [(3, 5)]),
        ("    if 1: state.x = 1\n    else: state.x = 2\n", [(1, 11), (2, 11)]),
    ],
)
def test_places(tmp_path: Path, body: str, found: list[tuple[int, int]]) -> None:
    expected = [("JAX401", NEXT + row, column) for row, column in found]
    last = NEXT + 1 + body.count("\n")
    assert check(tmp_path, HEAD + "def f(state: State):\n" + body + STEP) == [*expected, ("JAX401", last + 1, 5)]


def test_several_top_level_statements_on_one_line(tmp_path: Path) -> None:
    text = "from flax import struct; y = 1\n@struct.dataclass\nclass State: x: int; y: list = []\n"
    text += "s = State(1, 2); s.x = 2; t = s; t.x = 3\ndef f(s: State): s.x = 1; s.x = 2\n"
    expected = [("JAX301", 3, 32), ("JAX401", 4, 18), ("JAX401", 4, 34), ("JAX401", 5, 18), ("JAX401", 5, 27)]
    assert check(tmp_path, text) == expected


@pytest.mark.parametrize(
    "decorator",
    ["@(\n    lambda f: f\n)", "@(\n f)", "@(  # why\n  # @not\n    f)", "@ \\\nf", "@f\n@(\nf\n)\n@f", "@f  # @"],
)
def test_decorators_over_several_lines(tmp_path: Path, decorator: str) -> None:
    text = HEAD + "def f(g): return g\n" + decorator + "\n" + STEP + decorator + "\nclass A: x = 1\n" + STEP
    first = NEXT + decorator.count("\n") + 3
    assert check(tmp_path, text) == [("JAX401", first, 5), ("JAX401", first + decorator.count("\n") + 4, 5)]


@pytest.mark.parametrize(
    "content", ["", "\n", "\ufeff", "# only\n# comments\n", '"""Only a docstring."""', "\f", "\r\r"]
)
def test_files_with_nothing_in_them(tmp_path: Path, content: str) -> None:
    assert check(tmp_path, content) == []


def test_stub_file(tmp_path: Path) -> None:
    text = HEAD + "@struct.dataclass\nclass Other:\n    y: list = []\n    def f(self) -> int: ...\n"
    assert check(tmp_path, text, "main.pyi") == [("JAX301", NEXT + 2, 15)]


def test_any_name_is_read_if_it_is_given(tmp_path: Path) -> None:
    assert check(tmp_path, HEAD + STEP, "sc ript 😀 'x") == [("JAX401", NEXT + 1, 5)]


# -- huge and deep ---------------------------------------------------------------------------


@pytest.mark.parametrize("lines", [20_000, pytest.param(100_000, marks=pytest.mark.comparisons)])
def test_many_lines(lines: int, tmp_path: Path) -> None:
    filler = "    y = [y, state.x + 1]\n    if y:\n        y = str(y)\n" * 16
    function = "def f(state: State, y):\n" + filler + "    {}\n"
    count, every = lines // 50, 20
    bodies = ["y = state.x" if number % every else "state.x = y" for number in range(count)]
    text = HEAD + "".join(function.format(body) for body in bodies)
    assert text.count("\n") == lines + 8
    start = time.process_time()
    ast.parse(text)
    parsed = time.process_time()
    found = check(tmp_path, text)
    assert time.process_time() - parsed < 40 * (parsed - start)  # it is some four times as long
    assert found == [("JAX401", 58 + 50 * number, 5) for number in range(0, count, every)]


#: Each is deeper than Python lets functions call each other; libcst 1.8 takes the square of the depth of some.
DEEP = {
    "sum": ("1" + " + 1" * 2000, 0),
    "names": ("y" + " + y" * 2000, 0),
    "strings": ("('a'" + "\n'a'" * 5000 + ")", 5000),
    "calls": ("y" + ".f()" * 1200, 0),
    "subscripts": ("y" + "[0]" * 1200, 0),
    "not": ("not " * 3000 + "1", 0),
    "power": ("2" + " ** 2" * 900, 0),
    "lambda": ("lambda: " * 900 + "1", 0),
    "conditional": ("1 if y else " * 1500 + "1", 0),
    "list": ("[" + "1, " * 5000 + "]", 0),
    "brackets": ("(" * 190 + "1" + ")" * 190, 0),
}


def python_refuses(text: str) -> bool:
    """Whether the running Python reads `text` not even on a deep stack: 3.12 has a limit of its own."""
    try:
        with_deep_stack(lambda: ast.parse(text))
    except (RecursionError, MemoryError):
        return True
    return False


def test_only_python_3_12_refuses_deep_expressions() -> None:
    refused = [name for name, (expression, _) in DEEP.items() if python_refuses(expression)]
    assert refused == [] or sys.version_info[:2] == (3, 12)


@pytest.mark.parametrize("name", DEEP)
def test_deep_expression_at_the_top_does_not_matter(tmp_path: Path, name: str) -> None:
    expression, breaks = DEEP[name]
    text = HEAD + STEP + "y = 1\nz = " + expression + "\n" + STEP
    if python_refuses(text):
        assert check(tmp_path, text) == [("JAX001", 1, 1)]
        assert message(tmp_path / "main.py") == "too deeply nested to parse"
        return
    assert check(tmp_path, text) == [("JAX401", NEXT + 1, 5), ("JAX401", NEXT + 5 + breaks, 5)]


@pytest.mark.parametrize("name", DEEP)
def test_deep_expression_beside_a_bug(tmp_path: Path, name: str) -> None:
    expression, breaks = DEEP[name]
    text = HEAD + "def f(state: State, y):\n    z = " + expression + "\n    state.x = 1\n" + STEP
    found = check(tmp_path, text)
    if python_refuses(text):
        assert found == [("JAX001", 1, 1)]
        return
    assert found == [("JAX401", NEXT + 2 + breaks, 5), ("JAX401", NEXT + 4 + breaks, 5)]


@pytest.mark.parametrize(("body", "length"), [("pass", 1500), ("state.x = 1", 400)])
def test_long_chain_of_elif(tmp_path: Path, body: str, length: int) -> None:
    chain = f"    if y == 0:\n        {body}\n" + f"    elif y == 1:\n        {body}\n" * length
    text = HEAD + "def f(state: State, y):\n" + chain + STEP
    inside = [] if body == "pass" else [("JAX401", NEXT + 2 + 2 * number, 9) for number in range(length + 1)]
    assert check(tmp_path, text) == [*inside, ("JAX401", NEXT + 2 * length + 4, 5)]


@pytest.mark.parametrize("depth", [300, 5000])
@pytest.mark.parametrize("brackets", ["()", "[]", "{}"])
def test_brackets_nested_deeper_than_python_allows(tmp_path: Path, depth: int, brackets: str) -> None:
    text = HEAD + STEP + "y = " + brackets[0] * depth + brackets[1] * depth + "\n"
    assert check(tmp_path, text) == [("JAX001", NEXT + 2, 205)]
    assert message(tmp_path / "main.py") == "invalid syntax: too many nested parentheses"


def test_deep_blocks(tmp_path: Path) -> None:
    blocks = "".join(" " * depth + "if 1:\n" for depth in range(1, 96)) + " " * 96 + "state.x = 1\n"
    functions = "".join(" " * depth + f"def f{depth}(state: State):\n" for depth in range(95))
    functions += " " * 95 + "state.x = 1\n"
    text = HEAD + "def f(state: State):\n" + blocks + functions + STEP
    assert check(tmp_path, text) == [("JAX401", 105, 97), ("JAX401", 201, 96), ("JAX401", 203, 5)]
    too_deep = "".join(" " * depth + "if 1:\n" for depth in range(101)) + " " * 101 + "pass\n"
    assert [(code, row) for code, row, _ in check(tmp_path, HEAD + too_deep)] == [("JAX001", NEXT + 100)]


def test_deep_on_the_command_line(tmp_path: Path) -> None:
    expression, _ = DEEP["power"]
    text = HEAD + "def f(state: State):\n    z = " + expression + "\n    state.x = 1\n" + STEP
    (tmp_path / "deep.py").write_text(text)
    (tmp_path / "brackets.py").write_text("(" * 5000)
    (tmp_path / "good.py").write_text(HEAD + STEP)
    for jobs in ("-j1", "-j2"):
        done = run(jobs, ".", cwd=tmp_path)
        assert done.returncode == 1
        assert [" ".join(line.split(" ")[:2]) for line in done.stdout.splitlines()] == [
            "brackets.py:1:201: JAX001",
            "deep.py:11:5: JAX401",
            "deep.py:13:5: JAX401",
            "good.py:10:5: JAX401",
            "Found 4",
            "2 unsafe",
        ]
        assert done.stderr == ""


# -- newer grammar than the running Python ---------------------------------------------------

NEW_GRAMMAR = {
    "generic function (3.12)": ("def f[T](state: State, y: T):\n    state.x = 1\n", [1]),
    "generic class (3.12)": (
        "@struct.dataclass\nclass Box[T, *Ts, **P]:\n    y: T\n\ndef f(box: Box[int]):\n    box.y = 1\n",
        [5],
    ),
    "type statement (3.12)": ("type S = State\ndef f(state: S):\n    state.x = 1\n", [2]),
    "generic type statement (3.12)": ("type S[T] = State\ndef f(state: S[int]):\n    state.x = 1\n", [2]),
    "quotes in an f-string (3.12)": (
        'def f(state: State, d):\n    y = f"{d["k"]} {f"{f"{d}"}"}"; state.x = 1\n',
        [1],
    ),
    "lines in an f-string (3.12)": ('def f(state: State, d):\n    y = f"{\n  d  # c\n}"\n    state.x = 1\n', [4]),
    "default of a type parameter (3.13)": ("def f[T = int](state: State, y: T):\n    state.x = 1\n", [1]),
    "template string (3.14)": ('def f(state: State):\n    y = t"{state.x} b"\n    state.x = 1\n', [2]),
    "except without parentheses (3.14)": (
        "def f(state: State):\n    try:\n        y = 1\n    except KeyError, OSError:\n        state.x = 1\n",
        [4],
    ),
    "except star (3.11)": (
        "def f(state: State):\n    try:\n        y = 1\n    except* KeyError:\n        state.x = 1\n",
        [4],
    ),
    "star in an annotation (3.11)": ("def f(state: State, *y: *Ts):\n    state.x = 1\n", [1]),
    "star in an index (3.11)": ("def f(state: State, *y):\n    z = y[*y]\n    state.x = 1\n", [2]),
}


@pytest.mark.parametrize("name", NEW_GRAMMAR)
def test_newer_grammar(tmp_path: Path, name: str) -> None:
    text, bugs = NEW_GRAMMAR[name]
    last = NEXT + text.count("\n") + 1
    expected = [("JAX401", NEXT + row) for row in [*bugs, last - NEXT]]
    assert [(code, row) for code, row, _ in check(tmp_path, HEAD + text + STEP)] == expected
    assert [(code, row) for code, row, _ in check(tmp_path, (HEAD + text + STEP).replace("\n", "\r\n"))] == expected


def test_all_newer_grammar_in_one_file(tmp_path: Path) -> None:
    text, expected = HEAD, []
    for part, bugs in NEW_GRAMMAR.values():
        expected += [("JAX401", text.count("\n") + 1 + row) for row in bugs]
        text += part
    assert [(code, row) for code, row, _ in check(tmp_path, text)] == expected
    assert len(expected) == len(NEW_GRAMMAR)


def test_newer_grammar_with_a_syntax_error(tmp_path: Path) -> None:
    assert [code for code, _, _ in check(tmp_path, HEAD + "type S = State\nx = = 1\n")] == ["JAX001"]


# -- random damage ---------------------------------------------------------------------------


def texts() -> list[str]:
    """The modules of programs with a bug that are one module, in one framework each."""
    single = [program for program in cases.rotated(cases.programs()) if len(program.source.files) == 1]
    return sorted({text for program in single if program.is_bad for text in program.files.values()})


@st.composite
def damaged(draw: st.DrawFn, texts: list[str]) -> str:
    """A program with some slices deleted, repeated, moved or cut off."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 3))):
        unit = draw(st.sampled_from(["line", "character"]))
        parts = text.splitlines(keepends=True) if unit == "line" else list(text)
        start = draw(st.integers(0, len(parts)))
        end = min(len(parts), start + draw(st.integers(1, 6)))
        piece = parts[start:end]
        match draw(st.sampled_from(["delete", "repeat", "move", "truncate"])):
            case "delete":
                parts[start:end] = []
            case "repeat":
                parts[start:start] = piece
            case "move":
                del parts[start:end]
                where = draw(st.integers(0, len(parts)))
                parts[where:where] = piece
            case "truncate":
                del parts[max(start, len(parts) // 2) :]
        text = "".join(parts)
    return text


def is_readable(text: str) -> bool:
    """Whether it is Python: for the one that runs, or a newer one (damage may leave a `t` before a string)."""
    try:
        ast.parse(text)
    except SyntaxError:
        try:
            cst.parse_module(text)
        except cst.ParserSyntaxError:
            return False
    return True


def test_random_damage_never_crashes(tmp_path: Path) -> None:
    """Damaged programs are checked, or said to be unreadable where they are."""
    counts = {"parsed": 0, "unreadable": 0, "found": 0}
    path = tmp_path / "main.py"

    @settings(max_examples=100, derandomize=True, deadline=None, database=None)
    @given(damaged(texts()))
    def never_crashes(text: str) -> None:
        path.write_text(text, encoding="utf-8", newline="")
        result = check_paths([str(path)])
        assert result.errors == []
        if is_readable(text):
            counts["parsed"] += 1
            counts["found"] += bool(result.findings)
            assert "JAX001" not in {f.code for f in result.findings}
        else:
            counts["unreadable"] += 1
            assert [f.code for f in result.findings] == ["JAX001"]

    never_crashes()
    assert sum(counts[key] for key in ("parsed", "unreadable")) >= 100
    assert counts["parsed"] > 25, counts
    assert counts["unreadable"] > 15, counts
    assert counts["found"] > 10, counts


def test_source_refuses_what_no_parser_takes() -> None:
    with pytest.raises(Unreadable, match="null byte"):
        Source.from_text("main.py", "\0")


def test_json_of_broken_files(tmp_path: Path) -> None:
    (tmp_path / "syntax.py").write_text("def (\n")
    done = run("--output-format", "json", ".", cwd=tmp_path)
    assert done.returncode == 1
    (finding,) = json.loads(done.stdout)
    assert (finding["code"], finding["location"]) == ("JAX001", {"row": 1, "column": 5})
