"""Modules of which mypy's front end reads only a part: it is as in the whole, which is there when asked for."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest
from jaxlint_mypy.declared import Reader, may_delete, passing_on
from jaxlint_mypy.glimpses import read_first, shortened
from mypy import api
from mypy.errors import Errors
from mypy.nodes import Statement
from mypy.options import Options
from mypy.parse import parse

from jaxlint.symbols.parsing import outline_of
from tests.mypy.run import SMALL_CONFIG

FOLDER = Path(__file__).parents[2] / "fixtures"
#: What is read of a part and need not be looked up in the whole.
COMPLETE = ("module_calls", "guarded_calls", "star_imports", "all_names", "future_annotations", "attributes_set")
READER = Reader((), ())
TEXT = """
import functools
import jax
from flax import struct

@struct.dataclass
class State:
    x: jax.Array
    n: int = 0

class Runner(object):
    def __init__(self, state: State) -> None:
        self.state = state

    @functools.cache
    def run(self) -> State:
        state = self.state
        state.n = 1
        return state.replace(
            x=state.x, m=1
        )

@functools.cache
def make(x: jax.Array) -> State:
    \"\"\"Makes
one.\"\"\"
    return State(x=x)

async def later(x: jax.Array) -> State:
    state = make(x)
    state.n += 1
    return state

STATES = {"make": make, "run": Runner.run}
"""


def definitions(text: str) -> list[Statement]:
    """The statements of a module, as mypy parses them."""
    options = Options()
    return parse(text, "a.py", "a", Errors(options), options, eager=True).defs


def test_decorators_of_the_class_above_belong_to_it() -> None:
    above = "@struct.dataclass\nclass Params:\n    n: int = field(default=1)\n"
    below = "@struct.dataclass(\n    kw_only=True,\n)\nclass S:\n    n: int\n"
    text = f"from flax import struct\n\n{above}class Env:\n    pass\n\n{below}"
    assert READER.read(text, installed=False).decorated == {"Params", "S"}


def test_what_is_left_of_a_text() -> None:
    short = shortened(definitions(TEXT), READER.read(TEXT, False), TEXT)
    assert short is not None
    left = [line for line in short.text.splitlines() if line]
    assert left[7:10] == ["class Runner: ...", "def make(): ...", "def later(): ..."]
    assert short.text.count("\n") == TEXT.count("\n")


def _is_of_this_grammar(text: str) -> bool:
    """Whether the running Python parses a text: `class Runner[S]` is of Python 3.12, and then read as a whole."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def test_what_is_read_first_is_as_in_the_whole() -> None:
    count = 0
    for path in sorted(FOLDER.glob("*/*.py"))[::7]:
        text = path.read_text(encoding="utf-8")
        short = shortened(definitions(text), READER.read(text, False), text)
        if short is None or not _is_of_this_grammar(text):
            continue
        count += 1
        part, whole = read_first(short), outline_of(text)
        for name in ("scopes", "classes", "functions"):
            known, known_there = getattr(part, name), getattr(whole, name)
            assert known == {key: known_there[key] for key in known}, (path, name)
        for name in COMPLETE:
            assert getattr(part, name) == getattr(whole, name), (path, name)
    assert count > 50


def test_the_rest_is_read_when_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def noted(found: list[Statement], *given: object) -> object:
        short = shortened(found, *given)  # type: ignore[arg-type]
        made.append("" if short is None else short.text)
        return short

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("jaxlint_mypy.front.shortened", noted)
    (tmp_path / "mypy.ini").write_text(SMALL_CONFIG)
    (tmp_path / "a.py").write_text(TEXT)
    output, _, _ = api.run(["a.py", f"--cache-dir={os.devnull}"])
    assert [int(line.split(":")[1]) for line in output.splitlines()[:-1]] == [18, 19, 31]
    assert made != [""] and all("class Runner: ..." in text for text in made)


@pytest.mark.parametrize(
    ("text", "is_passed_on"),
    [
        ("def step(self):", False),
        ("async def step(self):", False),
        ("self.step(x)", False),
        ("steps, my_step = 1, 2", False),
        ("jax.jit(step)", True),
        ("jax.vmap(self.env.step)(x)", True),
        ("run = step\n", True),
        ("jit(getattr(env, 'step'))", True),
    ],
)
def test_a_function_is_passed_on_where_its_name_is_not_declared_or_called(text: str, is_passed_on: bool) -> None:
    assert passing_on("step")(text) is is_passed_on


@pytest.mark.parametrize(
    ("text", "deletes"),
    [("del x", True), ("if a: del x", True), ("del(x)", True), ("the model (of x)", False), ("delete x", False)],
)
def test_what_may_delete_has_the_word(text: str, deletes: bool) -> None:
    assert may_delete(text) is deletes
