"""The work that a function takes grows with its length, not with its square: counted in calls, whatever the load."""

from __future__ import annotations

import ast
import gc
import sys
from pathlib import Path
from types import FrameType

import pytest

from jaxlint.linter.engine import check_paths, check_source
from jaxlint.pytrees import interpreter
from jaxlint.symbols.parsing import read_statements

HEAD = """
import jax
import jax.numpy as jnp
from flax import struct

@struct.dataclass
class S:
    x: jax.Array
    y: jax.Array

def g(s: S, a) -> S:
    return s.replace(x=a)

def body(s: S, a):
    return s.replace(x=a), None

def f(state: S, other: S, a):
"""
#: What is repeated in the body of `f`.
REPEATED = {
    "updates in branches": """
    v{i} = state.replace(x=state.x + 1)
    if v{i}.x.shape:
        state = v{i}
    else:
        state = state.replace(y=state.y + 1)
""",
    "variables that are never read": "    _v{i} = g(state, {i})\n",
    "a chain of variables": "    v{i} = state.replace(x={i})\n    w{i} = v{i}.replace(y=v{i}.x)\n",
    "functions inside": """
    @jax.jit
    def h{i}(s: S):
        return s.replace(x=other.x)
    state = h{i}(state)
""",
    "loops over one function": "    state, _ = jax.lax.scan(body, state, a)\n",
    "comparisons": "    if state.x is a:\n        state = state.replace(x={i})\n    b{i} = state.x == other.x\n",
}


METHODS = """
@struct.dataclass
class Big:
    x: jax.Array
"""
#: Methods, each of which calls the next one.
METHOD = """
    @jax.jit
    def m{i}(self, a):
        return self.m{next}(a)
"""
#: Each class inherits the fields of all before it.
SUBCLASS = """
@struct.dataclass
class C{i}(C{before}):
    f{i}: jax.Array
"""


def calls(text: str) -> int:
    """How many functions of ours and of Python run while a text is checked."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        check_source(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("repeated", REPEATED.values(), ids=REPEATED)
def test_twice_as_long_takes_twice_the_work(repeated: str) -> None:
    def text(times: int) -> str:
        return HEAD + "".join(repeated.replace("{i}", str(i)) for i in range(times)) + "    return state\n"

    calls(text(2))  # what is loaded the first time
    once, twice, four_times = (calls(text(times)) for times in (40, 80, 160))
    assert four_times - twice < 2.6 * (twice - once)


def test_methods_that_call_each_other() -> None:
    def text(times: int) -> str:
        methods = (METHOD.replace("{i}", str(i)).replace("{next}", str((i + 1) % times)) for i in range(times))
        return HEAD + "    return state\n" + METHODS + "".join(methods)

    calls(text(2))
    once, twice, four_times = (calls(text(times)) for times in (40, 80, 160))
    assert four_times - twice < 2.6 * (twice - once)


#: Compiled functions, each of which updates the same field with what it holds.
COMPILED = """
@jax.jit
def step{i}(state: S) -> S:
    return state.replace(x=state.x + {i})
"""


def test_functions_that_update_the_same_field() -> None:
    def text(times: int) -> str:
        return HEAD + "    return state\n" + "".join(COMPILED.replace("{i}", str(i)) for i in range(times))

    calls(text(2))
    once, twice, four_times = (calls(text(times)) for times in (40, 80, 160))
    assert four_times - twice < 2.6 * (twice - once)


def test_a_chain_of_subclasses() -> None:
    """The fields of all classes together grow with the square of their number, and nothing grows faster."""

    def text(times: int) -> str:
        classes = (SUBCLASS.replace("{i}", str(i)).replace("{before}", str(i - 1)) for i in range(1, times))
        return HEAD + "    return state\n" + METHODS.replace("Big", "C0") + "".join(classes)

    calls(text(2))
    once, twice, four_times = (calls(text(times)) for times in (40, 80, 160))
    assert four_times - twice < 4.4 * (twice - once)


HOOKED = """
class Base:
    def __init_subclass__(cls):
        jax.tree_util.register_pytree_node_class(cls)
"""
#: A class that its base registers.
REGISTERED = """
class C{i}(Base):
    def __init__(self, x):
        self.x = x

    def tree_flatten(self):
        return (self.x,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
"""


def test_a_base_that_registers_its_subclasses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a base runs for its subclasses is parsed once, however many they are."""
    rows: list[int] = []

    def read(text: str, row: int) -> list[ast.stmt] | None:
        rows.append(row)
        return read_statements(text, row)

    monkeypatch.setattr(interpreter, "read_statements", read)
    check_source("import jax\n" + HOOKED + "".join(REGISTERED.replace("{i}", str(i)) for i in range(20)))
    assert rows == [3]


def test_what_others_hold_is_not_counted_for_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is frozen in a process is counted by looking at all of it, which takes longer than the check of a file."""
    (tmp_path / "main.py").write_text("x = 1\n")
    monkeypatch.delattr(gc, "get_freeze_count")
    collecting = gc.isenabled()
    assert check_paths([str(tmp_path)]).findings == []
    assert gc.isenabled() is collecting
