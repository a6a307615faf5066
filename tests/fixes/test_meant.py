"""What code means that assigns to instances as if they were mutable: fixed programs do that, or stay as they are.

`meant/` has what happens to a state, wherever it comes from and whoever else holds it; `M(s)` stands for the place
where it is changed, and `show` prints. The program with mutable classes and numpy's arrays says what is meant. Where a
variable is bound to a copy, and somebody who should does not see it, the fixed program prints something else.

Two changes for each of them; with `--thorough`, all of them.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from jaxlint.fixes.running import fix_source

FROZEN = """\
import dataclasses
import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class Inner:
    y: int = 1
    grid: jax.Array = dataclasses.field(default_factory=lambda: jnp.zeros(2))


@struct.dataclass
class State:
    x: int = 1
    z: int = 2
    board: jax.Array = dataclasses.field(default_factory=lambda: jnp.zeros(3))
    inner: Inner = dataclasses.field(default_factory=Inner)
"""
MUTABLE = """\
import dataclasses
import types
import numpy as jnp

jax = types.SimpleNamespace(Array=jnp.ndarray)


class Mutable:
    def replace(self, **changes):
        for name, value in changes.items():
            setattr(self, name, value)
        return self


@dataclasses.dataclass(eq=False)
class Inner(Mutable):
    y: int = 1
    grid: jax.Array = dataclasses.field(default_factory=lambda: jnp.zeros(2))


@dataclasses.dataclass(eq=False)
class State(Mutable):
    x: int = 1
    z: int = 2
    board: jax.Array = dataclasses.field(default_factory=lambda: jnp.zeros(3))
    inner: Inner = dataclasses.field(default_factory=Inner)
"""
SHOWING = """

def show(*states: State) -> None:
    for one in states:
        print(int(one.x), int(one.z), *map(int, one.board), int(one.inner.y), *map(int, one.inner.grid))


def mk() -> State:
    return State(x=1, z=2, board=jnp.zeros(3), inner=Inner(y=1))


"""
#: Ways to change what is called S here.
CHANGES = [
    *("S.x = 5", "S.x += 5", "S.inner.y = 7", "S.board[1] = 9", "S.replace(x=5)", 'setattr(S, "x", 5)'),
    *("S.x, n = 5, 6", "S.x, S.z = 5, 6", "n = S.x = 5", "S.x = S.z = 5", "S.x = 5\nS.z = S.x + 1"),
    *("for S.x in (3, 4):\n    pass", "S.inner.y += 7", "S.board[1] += 9", "if S.z == 2: S.x = 5"),
    *("n = 1; S.x = 5; n = 2", "S.x: int = 5", "S.x = 5\nS.z = S.x + 1\nS.x = 6", "S.x += 1; S.z = 3; n = 4"),
    *(
        "S.x = 5; S.z = 6",
        "S.x = 5\nS.z = 6",
        "S.x = 5\nS.z += 6\nS.inner.y = 8",
        "S.x = 5\nS.z = int(repr(S).count('x=5'))",
        "S.inner.grid[1] = 9",
        "S.inner.grid[1] += 9",
    ),
]


class Meant(msgspec.Struct, forbid_unknown_fields=True):
    """What happens to a state; whether an assignment to it is fixed, and whether only unsafe fixes may mean another."""

    code: str
    methods: str = ""
    is_fixed: bool = False
    is_unsafe: bool = False


CASES = {
    name: case
    for path in sorted((Path(__file__).parent / "meant").glob("*.toml"))
    for name, case in msgspec.toml.decode(path.read_bytes(), type=dict[str, Meant]).items()
}


#: The same for arrays: what stands before the program, and ways to change them.
ARRAYS = """\
import dataclasses
import jax
import jax.numpy as jnp


def show(*arrays: jax.Array) -> None:
    for one in arrays:
        print([int(v) for v in one])


def mk() -> jax.Array:
    return jnp.zeros(3)


"""
ITEMS = ["S[1] = 9", "S[1] += 9", "S[:2] = 7", "S[1] = 9\nS[2] = S[1] + 1"]


def written(case: Meant, change: str) -> tuple[str, str]:
    """The methods of the state and the program, with a change in place of `M(s)`."""

    def changed(match: re.Match[str]) -> str:
        return textwrap.indent(change.replace("S", match[2]), match[1])

    methods, code = (re.sub(r"^([ ]*)M\((.+?)\)", changed, text, flags=re.M) for text in (case.methods, case.code))
    return textwrap.indent(f"\n{methods}", "    ") if methods else "", code


def outcome(text: str) -> tuple[str, str | None]:
    """What a program prints, and what it raises."""
    module, printed = ModuleType("prog"), io.StringIO()
    sys.modules["prog"] = module
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(text, "prog.py", "exec"), module.__dict__)
    except Exception as error:  # whatever it is
        return printed.getvalue(), repr(error)
    finally:
        del sys.modules["prog"]
    return printed.getvalue(), None


def wrong_with(case: Meant, change: str) -> str | None:
    """What is wrong with the fixes of a program."""
    methods, code = written(case, change)
    try:
        compile(code, "prog.py", "exec")
    except SyntaxError:
        return None
    is_fixed = case.is_fixed and change == CHANGES[0]
    before, mutable = (header + methods + SHOWING + code for header in (FROZEN, MUTABLE))
    return compared(before, mutable, is_fixed=is_fixed, unsafe=not case.is_unsafe)


def compared(before: str, mutable: str, *, is_fixed: bool = False, unsafe: bool = True) -> str | None:
    """What is wrong with the fixes of a program that should do what another one does."""
    after, left = fix_source(before, unsafe=unsafe)
    if after == before:
        return "it is not fixed" if is_fixed else None
    meant, shown = outcome(mutable), outcome(after)
    assert meant[1] is None, meant
    return None if left or shown == meant else f"{shown} is not {meant} in\n{after}"


@pytest.mark.parametrize("name", CASES)
def test_fixes_do_what_is_meant(name: str, is_thorough: bool) -> None:
    case, number = CASES[name], list(CASES).index(name)
    changes = CHANGES if is_thorough else {CHANGES[0]: None, CHANGES[number % len(CHANGES)]: None}
    for change in changes:
        wrong = wrong_with(case, change)
        assert wrong is None, f"{change}: {wrong}"


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.methods])
def test_fixes_of_arrays(name: str, is_thorough: bool) -> None:
    case, number = CASES[name], list(CASES).index(name)
    if ".replace(" in case.code:
        pytest.skip("an array has no fields")
    code = case.code.replace("State", "jax.Array").replace(".x", "[1]").replace(".z", "[2]")
    mutable = ARRAYS.replace("import jax\nimport jax.numpy as jnp", MUTABLE[len("import dataclasses\n") :])
    unsafe = not case.is_unsafe
    for change in ITEMS if is_thorough else [ITEMS[number % len(ITEMS)]]:
        _, changed = written(msgspec.structs.replace(case, code=code), change)
        wrong = compared(ARRAYS + changed, mutable + changed, unsafe=unsafe)
        assert wrong is None, f"{change}: {wrong}"


def test_most_is_seen() -> None:
    assert len(CASES) >= 230
    assert sum(case.is_unsafe for case in CASES.values()) <= 1
    assert sum(case.is_fixed for case in CASES.values()) >= 80
