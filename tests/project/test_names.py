"""Names in blocks, aliases, and names that hide others: bugs are found only where classes are known."""

from __future__ import annotations

import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol
from jaxlint.symbols.outline import Class
from jaxlint.syntax.expressions import Span
from tests.project.marked import STATE, STEP, check


def test_type_checking_import(tmp_path: Path) -> None:
    use = """
        from __future__ import annotations
        from typing import TYPE_CHECKING

        if TYPE_CHECKING:
            from states import State

        def step(state: State):
            state.x = 1  # JAX401
    """
    check(tmp_path, {"states.py": STATE, "main.py": use, "other.py": use.replace("TYPE_CHECKING:", "False:")})


@pytest.mark.parametrize("test", ["TYPE_CHECKING", "typing.TYPE_CHECKING"])
def test_what_runs_is_preferred_to_what_is_only_checked(tmp_path: Path, test: str) -> None:
    use = """
        import typing
        from typing import TYPE_CHECKING

        if TEST:
            from dataclasses import dataclass
        else:
            from flax.struct import dataclass

        @dataclass
        class State:
            x: int

        def step(state: State):
            state.x = 1  # JAX401
    """
    check(tmp_path, {"main.py": use.replace("TEST", test)})


def test_not_type_checking(tmp_path: Path) -> None:
    use = """
        from typing import TYPE_CHECKING

        if not TYPE_CHECKING:
            from flax.struct import dataclass
        else:
            from dataclasses import dataclass

        @dataclass
        class State:
            x: int

        def step(state: State):
            state.x = 1  # JAX401
    """
    check(tmp_path, {"main.py": use})


def test_import_in_a_function(tmp_path: Path) -> None:
    use = """
        def step():
            from states import State

            state = State(1)
            state.x = 1  # JAX401

        def other():
            state = State(1)
            state.x = 1
    """
    check(tmp_path, {"states.py": STATE, "main.py": use})


@pytest.mark.parametrize(
    "fallback", ["State = None", "from missing import State", "raise", "State = Any", "class State: ..."]
)
def test_import_that_may_fail(tmp_path: Path, fallback: str) -> None:
    use = f"""
        from typing import Any

        try:
            from states import State
        except ImportError:
            {fallback}

        def step(state: State):
            state.x = 1  # JAX401
    """
    check(tmp_path, {"states.py": STATE, "main.py": use})


def test_optional_dependency_flag(tmp_path: Path) -> None:
    use = """
        struct = None
        try:
            from flax import struct
        except ImportError:
            HAS_FLAX = False
        else:
            HAS_FLAX = True

        @struct.dataclass
        class State:
            x: int

        def step(state: State):
            state.x = 1  # JAX401
    """
    check(tmp_path, {"main.py": use})


# -- aliases ---------------------------------------------------------------------------------


def test_alias_of_a_decorator(tmp_path: Path) -> None:
    use = """
        from flax import struct

        dataclass = struct.dataclass
        again = dataclass

        @again
        class State:
            x: int

        def step(state: State):
            state.x = 1  # JAX401
    """
    check(tmp_path, {"main.py": use})


def test_alias_of_a_static_marker(tmp_path: Path) -> None:
    use = """
        import jax
        import jax_dataclasses as jdc

        S = jdc.Static

        @jdc.pytree_dataclass
        class State:
            x: S[jax.Array]  # JAX201
            y: jax.Array
    """
    check(tmp_path, {"main.py": use})


@pytest.mark.parametrize(
    ("alias", "call"),
    [
        ("field = partial(struct.field, pytree_node=False)", "field()"),
        ("field = functools.partial(struct.field, pytree_node=False)", "field()"),
        ("static = lambda **kw: struct.field(pytree_node=False, **kw)", "static()"),
        ("def static(**kw):\n    return struct.field(pytree_node=False, **kw)", "static()"),
        ("field = struct.field", "field(pytree_node=False)"),
    ],
)
def test_alias_of_a_static_field(tmp_path: Path, alias: str, call: str) -> None:
    head = "import functools\nfrom functools import partial\nimport jax\nfrom flax import struct\n\n"
    state = f"""
        @struct.dataclass
        class State:
            x: jax.Array = {call}  # JAX201
            y: jax.Array
    """
    check(tmp_path, {"main.py": head + alias + textwrap.dedent(state)})


def test_alias_in_another_module(tmp_path: Path) -> None:
    check(
        tmp_path,
        {
            "compat.py": "from flax import struct\n\ndataclass = struct.dataclass\n",
            "main.py": "import compat\n" + textwrap.dedent(STATE).replace("@struct", "@compat") + textwrap.dedent(STEP),
        },
    )


def test_alias_of_a_class_and_its_union(tmp_path: Path) -> None:
    use = """
        from typing import Optional, TypeAlias, Union
        from states import State

        A = State
        B: TypeAlias = "State"
        C = Optional[State]

        def step(a: A, b: B, c: C):
            a.x = 1  # JAX401
            b.x = 1  # JAX401
            if c is not None:
                c.x = 1  # JAX401
    """
    check(tmp_path, {"states.py": STATE, "main.py": use})


def test_alias_that_is_assigned_twice_tells_nothing_in_a_branch(tmp_path: Path) -> None:
    use = """
        import os
        from states import State
        from other import Other

        if os.environ.get("OTHER"):
            Any = Other
        else:
            Any = State

        def step(state: Any):
            state.x = 1
    """
    other = "class Other:\n    x = 0\n"
    check(tmp_path, {"states.py": STATE, "other.py": other, "main.py": use})


# -- shadowing -------------------------------------------------------------------------------


def test_shadowing(tmp_path: Path) -> None:
    use = """
        from states import State


        class Box:
            State = object

            def method(self, state: State):
                state.x = 1

            def inside(self):
                state = State(1)
                state.x = 1  # JAX401

        def parameter(State, y):
            state = State(1)
            state.x = 1

        def local(y):
            State = y
            state = State(1)
            state.x = 1

        def comprehension(y):
            states = [State for State in y]
            state = State(1)
            state.x = 1  # JAX401
            return states

        def inner(y):
            class State:
                x = 0

            state = State()
            state.x = 1

        def right(y):
            state = State(1)
            state.x = 1  # JAX401
    """
    check(tmp_path, {"states.py": STATE, "main.py": use})


def test_global_and_nonlocal(tmp_path: Path) -> None:
    use = """
        from states import State

        def writes():
            global state
            state = State(1)
            state.x = 1  # JAX401

        def outer(y):
            State = y

            def inner():
                nonlocal State
                state = State(1)
                state.x = 1

            return inner
    """
    check(tmp_path, {"states.py": STATE, "main.py": use})


def test_nested_classes(tmp_path: Path) -> None:
    use = """
        from flax import struct

        class Agent:
            @struct.dataclass
            class State:
                x: int

            def step(self, state: "Agent.State"):
                state.x = 1  # JAX401

        def step(state: Agent.State):
            state.x = 1  # JAX401

        def make():
            @struct.dataclass
            class Local:
                x: int

            local = Local(1)
            local.x = 1  # JAX401
    """
    check(tmp_path, {"main.py": use})


# -- where imports start ---------------------------------------------------------------------


def test_what_two_names_stand_for_is_equal_and_not_unequal() -> None:
    """Though each is another object: what msgspec has in place of `!=` would ask for the same one."""

    nowhere = Span(1, 0, 1, 0)
    declared = Class("State", "State", "", (), (), (), (), {}, nowhere, nowhere)
    one, other = (ClassSymbol(cast(Module, SimpleNamespace(path="main.py")), declared) for _ in range(2))
    assert one is not other
    assert one == other
    assert not one != other  # noqa: SIM202
