"""Declarations that are configured, home-made, or repeated: bugs are found only where classes are known."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from jaxlint.config.settings import Settings
from jaxlint.pytrees.target import ExtraField
from tests.project.marked import STATE, STEP, check, findings, write


def test_extra_decorators(tmp_path: Path) -> None:
    use = """
        import unseen

        @unseen.pytree
        class State:
            x: int

        def step(state: State):
            state.x = 1  # JAX401
    """
    write(tmp_path, {"main.py": use})
    assert findings(tmp_path) == set()
    check(tmp_path, {"main.py": use}, Settings(extra_decorators={"unseen.pytree": "flax.struct.dataclass"}))


def test_extra_decorators_of_a_module_that_is_seen(tmp_path: Path) -> None:
    use = """
        from p import pytree

        @pytree
        class State:
            x: int

        def step(state: State):
            state.x = 1  # JAX401
    """
    opaque = "import importlib\n\ndef pytree(cls):\n    return importlib.import_module('x').make(cls)\n"
    files = {"p/__init__.py": "from .inner import pytree", "p/inner.py": opaque, "main.py": use}
    write(tmp_path, files)
    assert findings(tmp_path) == set()
    for name in ("p.pytree", "p.inner.pytree"):
        check(tmp_path, files, Settings(extra_decorators={name: "flax.struct.dataclass"}))


def test_extra_bases(tmp_path: Path) -> None:
    use = """
        import unseen

        class State(unseen.Node):
            x: int

        def step(state: State):
            state.x = 1  # JAX401
    """
    write(tmp_path, {"main.py": use})
    assert findings(tmp_path) == set()
    check(tmp_path, {"main.py": use}, Settings(extra_bases={"unseen.Node": "flax.struct.PyTreeNode"}))


def test_extra_fields(tmp_path: Path) -> None:
    use = """
        import jax
        from flax import struct
        from unseen import static, marked

        @struct.dataclass
        class State:
            x: jax.Array = static()  # JAX201
            y: jax.Array = marked(pytree_node=False)  # JAX201
            z: jax.Array = marked()
    """
    write(tmp_path, {"main.py": use})
    assert findings(tmp_path) == set()
    extra = {
        "unseen.static": ExtraField(like="flax.struct.field", static=True),
        "unseen.marked": ExtraField(like="flax.struct.field"),
    }
    check(tmp_path, {"main.py": use}, Settings(extra_fields=extra))


@pytest.mark.parametrize(
    ("definition", "decorator"),
    [
        ("mydataclass = partial(struct.dataclass, kw_only=True)", "@mydataclass"),
        ("def mydataclass(cls):\n    return struct.dataclass(cls)", "@mydataclass"),
        ("def mydataclass(cls):\n    made = struct.dataclass(cls)\n    return made", "@mydataclass"),
        ("def mydataclass(cls=None, **kw):\n    return struct.dataclass(cls, **kw)", "@mydataclass"),
        ("def factory(**kw):\n    return partial(struct.dataclass, **kw)", "@factory(kw_only=True)"),
        ("def factory():\n    def wrap(cls):\n        return struct.dataclass(cls)\n    return wrap", "@factory()"),
        ("def factory():\n    return lambda cls: struct.dataclass(cls)", "@factory()"),
        ("mydataclass = lambda cls: struct.dataclass(cls)", "@mydataclass"),
        ("mydataclass = struct.dataclass", "@mydataclass"),
    ],
)
def test_home_made_decorators(tmp_path: Path, definition: str, decorator: str) -> None:
    name = definition.replace("def ", "").replace("(", " ").split()[0]
    state = f"from tools import {name}\n\n{decorator}\nclass State:\n    x: int\n"
    tools = f"from functools import partial\nfrom flax import struct\n\n{definition}\n"
    check(tmp_path, {"tools.py": tools, "main.py": state + textwrap.dedent(STEP)})


def test_home_made_decorator_that_does_something_else(tmp_path: Path) -> None:
    tools = "from flax import struct\n\nPyTreeNode = struct.PyTreeNode\n\ndef same(cls):\n    return cls\n"
    state = "from tools import same\n\n@same\nclass State:\n    x: int\n"
    check(tmp_path, {"tools.py": tools, "main.py": state + textwrap.dedent(STEP).replace("# JAX401", "")})


def test_base_classes_of_one_s_own(tmp_path: Path) -> None:
    check(
        tmp_path,
        {
            "base.py": """
                from flax import struct

                class Base(struct.PyTreeNode):
                    x: int

                class Wrapper(Base):
                    pass
            """,
            "more.py": "import base\n\nclass More(base.Wrapper):\n    y: int = 0\n",
            "main.py": """
                from more import More

                class State(More):
                    z: int = 0

                def step(state: State):
                    state.x = 1  # JAX401
                    state.y = 1  # JAX401
                    state.z = 1  # JAX401
                    return state.replace(w=1)  # JAX402
            """,
        },
    )


def test_mixin_and_generic_base(tmp_path: Path) -> None:
    use = """
        from typing import Generic, TypeVar
        import equinox as eqx

        T = TypeVar("T")

        class Mixin:
            def hello(self): ...

        class Base(eqx.Module, Generic[T]):
            x: T

        class State(Mixin, Base[int]):
            y: int

        def step(state: State, other: Base[float]):
            state.x = 1  # JAX401
            other.x = 1  # JAX401
    """
    check(tmp_path, {"main.py": use})


# -- definitions -----------------------------------------------------------------------------


def test_the_last_definition_counts(tmp_path: Path) -> None:
    frozen = textwrap.dedent(STATE)
    plain = "class State:\n    x = 0\n"
    step = textwrap.dedent(STEP)
    check(
        tmp_path,
        {
            "a.py": frozen + plain + step.replace("# JAX401", ""),
            "b.py": plain + frozen + step,
            "c.py": frozen + "State = object\n" + step.replace("# JAX401", ""),
            "d.py": "from a import State\n" + frozen + step,
        },
    )


def test_fields_of_the_last_definition_count(tmp_path: Path) -> None:
    use = """
        from flax import struct

        @struct.dataclass
        class State:
            old: int

        @struct.dataclass
        class State:
            new: int

        def step(state: State):
            return state.replace(new=1).replace(old=1)  # JAX402
    """
    check(tmp_path, {"main.py": use})


def test_conditional_definitions(tmp_path: Path) -> None:
    """Of two classes in two branches either may be meant."""
    use = """
        import sys
        from flax import struct

        if sys.version_info >= (3, 11):
            @struct.dataclass
            class State:
                x: int
        else:
            class State:
                x: int

        if sys.platform == "linux":
            @struct.dataclass
            class Only:
                x: int

        def step(state: State, only: Only):
            state.x = 1
            only.x = 1  # JAX401
    """
    check(tmp_path, {"main.py": use})


def test_deleted_name(tmp_path: Path) -> None:
    use = textwrap.dedent(STATE) + "del State\n" + textwrap.dedent(STEP).replace("# JAX401", "")
    check(tmp_path, {"main.py": use})
