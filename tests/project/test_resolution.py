"""What names mean, seen through findings: a bug is found where, and only where, the class behind a name is known."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import pytest

from jaxlint import check_paths
from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence
from jaxlint.pytrees.target import ExtraField

STATE = """
    from flax import struct

    @struct.dataclass
    class State:
        x: int
"""

STEP = """
    def step(state: State):
        state.x = 1  # JAX401
"""


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")


def findings(root: Path, settings: Settings | None = None) -> set[str]:
    """All certain findings below `root`, as `file:row: code`."""
    result = check_paths([str(root)], settings)
    assert result.errors == []
    return {
        f"{Path(f.path).relative_to(root)}:{f.row}: {f.code}"
        for f in result.findings
        if f.confidence is not Confidence.LOW
    }


def marked(files: dict[str, str]) -> set[str]:
    """The lines that say which code is to be found in them."""
    return {
        f"{name}:{row}: {line.rpartition('# ')[2]}"
        for name, text in files.items()
        for row, line in enumerate(text.splitlines(), 1)
        if "# JAX" in line
    }


def check(root: Path, files: dict[str, str], settings: Settings | None = None) -> None:
    """The marked lines are found, and no others."""
    write(root, files)
    assert findings(root, settings) == marked(files)


# -- imports ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spelling",
    [
        "from lib.core.states import State",
        "from lib.core.states import State as S; State = S",
        "import lib.core.states as m; State = m.State",
        "import lib.core.states; State = lib.core.states.State",
        "import lib.core.states\nimport lib.core; State = lib.core.states.State",
        "from lib.core import states; State = states.State",
        "from lib import core; State = core.states.State",
        "from lib.core.states import *",
        "from .core.states import State",
        "from .core import states as m; State = m.State",
        "from . import core; State = core.states.State",
        "from ..lib.core.states import State",
        "from lib.core.states import (\n    State,\n)",
    ],
)
def test_import(tmp_path: Path, spelling: str) -> None:
    files = {
        "lib/__init__.py": "",
        "lib/core/__init__.py": "from . import states",
        "lib/core/states.py": STATE,
        "lib/use.py": spelling + textwrap.dedent(STEP),
    }
    if spelling.startswith("from ..lib"):
        files = {f"top/{name}": text for name, text in files.items()} | {"top/__init__.py": ""}
    check(tmp_path, files)


@pytest.mark.parametrize("dots", [1, 2, 3])
def test_relative_imports(tmp_path: Path, dots: int) -> None:
    home = ["a/b/c", "a/b", "a"][dots - 1]
    files = {f"{folder}/__init__.py": "" for folder in ("a", "a/b", "a/b/c")}
    files[f"{home}/states.py"] = STATE
    files["a/b/c/use.py"] = f"from {'.' * dots}states import State" + textwrap.dedent(STEP)
    check(tmp_path, files)


@pytest.mark.parametrize("dots", [1, 2, 3])
def test_relative_import_from_a_package(tmp_path: Path, dots: int) -> None:
    """In `__init__.py` one dot is the package itself."""
    home = ["a/b/c", "a/b", "a"][dots - 1]
    files = {f"{folder}/__init__.py": "" for folder in ("a", "a/b")}
    files[f"{home}/states.py"] = STATE
    files["a/b/c/__init__.py"] = f"from {'.' * dots}states import State" + textwrap.dedent(STEP)
    check(tmp_path, files)


@pytest.mark.parametrize(
    ("spelling", "call"),
    [
        ("from flax import struct", "struct.dataclass"),
        ("from flax import struct as s", "s.dataclass"),
        ("import flax", "flax.struct.dataclass"),
        ("import flax.struct", "flax.struct.dataclass"),
        ("import flax.struct as fs", "fs.dataclass"),
        ("import flax as f", "f.struct.dataclass"),
        ("from flax.struct import dataclass", "dataclass"),
        ("from flax.struct import dataclass as dc", "dc"),
        ("from flax.struct import *", "dataclass"),
    ],
)
def test_names_of_the_framework(tmp_path: Path, spelling: str, call: str) -> None:
    state = STATE.replace("from flax import struct", spelling).replace("struct.dataclass\n", "DECORATOR\n")
    state = state.replace("DECORATOR", call).replace("@flax.DECORATOR", f"@{call}")
    check(tmp_path, {"main.py": textwrap.dedent(state) + textwrap.dedent(STEP)})


def test_other_things_of_the_same_name_are_not_the_framework(tmp_path: Path) -> None:
    """`dataclasses.dataclass` makes a mutable class, and a module of one's own is not flax."""
    other = """
        from dataclasses import dataclass
        import mine.struct as struct

        @dataclass
        class Plain:
            x: int

        @struct.dataclass
        class Mine:
            x: int

        def step(a: Plain, b: Mine):
            a.x = 1
            b.x = 1
    """
    mine = "def dataclass(cls):\n    return cls\n"
    check(tmp_path, {"main.py": other, "mine/__init__.py": "", "mine/struct.py": mine})


# -- re-exports ------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_reexports(tmp_path: Path, levels: int) -> None:
    packages = ["/".join(["p", *[f"q{i}" for i in range(1, n)]]) for n in range(1, levels + 1)]
    files = {f"{folder}/__init__.py": f"from .q{n} import State" for n, folder in enumerate(packages[:-1], 1)}
    files[f"{packages[-1]}/__init__.py"] = "from ._states import State"
    files[f"{packages[-1]}/_states.py"] = STATE
    files["main.py"] = "from p import State" + textwrap.dedent(STEP)
    check(tmp_path, files)


def test_reexport_under_another_name(tmp_path: Path) -> None:
    check(
        tmp_path,
        {
            "p/__init__.py": "from .a import Renamed as Final",
            "p/a.py": "from .b import State as Renamed",
            "p/b.py": STATE,
            "main.py": "import p\n" + textwrap.dedent(STEP).replace("State", "p.Final"),
        },
    )


STARRED = {
    "p/__init__.py": "",
    "main.py": """
        from p.states import *

        def step(a: Shown, b: Hidden, c: _Private):
            a.x = 1  # A
            b.x = 1  # B
            c.x = 1  # C
    """,
    "p/states.py": """
        from flax import struct

        @struct.dataclass
        class Shown:
            x: int

        @struct.dataclass
        class Hidden:
            x: int

        @struct.dataclass
        class _Private:
            x: int
    """,
}


@pytest.mark.parametrize(
    ("exported", "found"),
    [
        ("", "AB"),
        ('__all__ = ["Shown"]', "A"),
        ('__all__ = ("Shown", "_Private")', "AC"),
        ('__all__ = ["Shown"]; __all__ += ["_Private"]', "AC"),
        ('__all__ = ["Shown"]; __all__.append("_Private")', "AC"),
        ('__all__ = ["Shown"]; __all__.extend(["Hidden"])', "AB"),
        ('__all__ = ["Shown"] + ["Hidden"]', "AB"),
        ('__all__: list[str] = ["Shown"]', "A"),
        ("__all__ = []", ""),
    ],
)
def test_star_import(tmp_path: Path, exported: str, found: str) -> None:
    files = dict(STARRED)
    files["p/states.py"] = textwrap.dedent(files["p/states.py"]) + exported + "\n"
    for mark in "ABC":
        files["main.py"] = files["main.py"].replace(f"# {mark}", "# JAX401" if mark in found else "")
    check(tmp_path, files)


def test_star_imports_in_a_chain(tmp_path: Path) -> None:
    check(
        tmp_path,
        {
            "p/__init__.py": "from .a import *",
            "p/a.py": "from .b import *",
            "p/b.py": "from .c import *",
            "p/c.py": STATE,
            "main.py": "from p import *" + textwrap.dedent(STEP),
        },
    )


def test_the_last_star_import_wins(tmp_path: Path) -> None:
    plain = "class State:\n    x = 0\n"
    frozen = textwrap.dedent(STATE)
    step = textwrap.dedent(STEP)
    files = {
        "frozen.py": frozen,
        "plain.py": plain,
        "a.py": "from plain import *\nfrom frozen import *\n" + step,
        "b.py": "from frozen import *\nfrom plain import *\n" + step.replace("# JAX401", ""),
    }
    check(tmp_path, files)


# -- blocks ----------------------------------------------------------------------------------


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

USE = "from lib.states import State" + textwrap.dedent(STEP)


@pytest.mark.parametrize("folder", ["src", "lib"])
def test_src_layout(tmp_path: Path, folder: str) -> None:
    files = {
        f"{folder}/lib/__init__.py": "",
        f"{folder}/lib/states.py": STATE,
        f"{folder}/lib/use.py": USE,
        "tests/test_use.py": USE,
        "examples/deep/er/use.py": USE,
    }
    write(tmp_path, {"pyproject.toml": ""})
    check(tmp_path, files)


def test_only_the_file_that_imports_is_checked(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": "", "src/lib/__init__.py": "", "src/lib/states.py": STATE, "tests/use.py": USE})
    result = check_paths([str(tmp_path / "tests" / "use.py")])
    assert [(f.code, f.row) for f in result.findings] == [("JAX401", 3)]
    assert result.files == 1


def test_namespace_packages(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": ""})
    check(
        tmp_path,
        {
            "space/one/states.py": STATE,
            "space/two/use.py": "from space.one.states import State" + textwrap.dedent(STEP),
            "space/two/deep/use.py": "from ...one.states import State" + textwrap.dedent(STEP),
            "space/three/use.py": "import space.one.states as m\nState = m.State" + textwrap.dedent(STEP),
        },
    )


def test_namespace_packages_below_the_folder_that_is_checked(tmp_path: Path) -> None:
    """There is no project file: imports start where the user lets jaxlint look, unless that is a package itself."""
    files = {
        "src/model/states.py": STATE,
        "src/use.py": "from src.model.states import State" + textwrap.dedent(STEP),
        "scripts/run.py": "import src.model.states as m\nState = m.State" + textwrap.dedent(STEP),
    }
    check(tmp_path / "tree", files)
    package = {"__init__.py": "", "model/__init__.py": "", "model/states.py": STATE}
    check(tmp_path / "package", package | {"use.py": USE.replace("lib", "model").replace("  # JAX401", "")})


@pytest.mark.parametrize("spelling", ["from flax import struct", "import flax\nstruct = flax.struct"])
def test_a_folder_that_is_called_like_a_library_does_not_hide_it(tmp_path: Path, spelling: str) -> None:
    """Python prefers the installed package to a folder without `__init__.py`, wherever that is."""
    text = spelling + textwrap.dedent(STATE).replace("from flax import struct", "") + textwrap.dedent(STEP)
    files = {"examples/flax/mnist/train.py": text, "flax/notes.py": "", "use.py": text}
    check(tmp_path / "tree", files)
    check(tmp_path / "project", files | {"pyproject.toml": ""})


@pytest.mark.parametrize("beside", ["wide-1.0.dist-info/METADATA", "wide.egg-info/PKG-INFO"])
def test_namespace_package_of_an_unpacked_wheel(tmp_path: Path, beside: str) -> None:
    """There is no project file: what an installer writes beside the package says where imports begin."""
    write(tmp_path, {beside: ""})
    check(
        tmp_path,
        {"wide/states.py": STATE, "wide/use.py": "from wide.states import State" + textwrap.dedent(STEP)},
    )


def test_namespace_package_over_two_roots(tmp_path: Path) -> None:
    files = {
        "a/space/one/__init__.py": "",
        "a/space/one/states.py": STATE,
        "b/space/two/__init__.py": "",
        "b/space/two/use.py": "from space.one.states import State" + textwrap.dedent(STEP),
    }
    check(tmp_path, files, Settings(src=(str(tmp_path / "a"), str(tmp_path / "b"))))


def test_configured_roots(tmp_path: Path) -> None:
    files = {"code/python/lib/__init__.py": "", "code/python/lib/states.py": STATE, "scripts/use.py": USE}
    write(tmp_path, files)
    only = [str(tmp_path / "scripts")]
    assert check_paths(only).findings == []
    assert len(check_paths(only, Settings(src=(str(tmp_path / "code" / "python"),))).findings) == 1


def test_several_roots_of_checked_files(tmp_path: Path) -> None:
    """Each project finds its own package, even if two are called the same."""
    plain = "class State:\n    x = 0\n"
    check(
        tmp_path,
        {
            "one/pyproject.toml": "",
            "one/lib/__init__.py": "",
            "one/lib/states.py": STATE,
            "one/use.py": USE,
            "two/pyproject.toml": "",
            "two/lib/__init__.py": "",
            "two/lib/states.py": plain,
            "two/use.py": USE.replace("# JAX401", ""),
        },
    )


def test_scripts_import_their_neighbours(tmp_path: Path) -> None:
    use = "from states import State" + textwrap.dedent(STEP)
    plain = "class State:\n    x = 0\n"
    other = {"b/states.py": plain, "b/use.py": use.replace("# JAX401", "")}
    check(tmp_path, {"a/states.py": STATE, "a/use.py": use} | other)


def test_of_packages_of_one_name_the_nearest_is_meant(tmp_path: Path) -> None:
    """Two programs side by side, each with a `src` and with tests that run beside it, and no project file."""
    use = "from src.states import State" + textwrap.dedent(STEP)
    plain = "class State:\n    x = 0\n"
    files = {"src/__init__.py": "", "src/states.py": STATE, "tests/test_use.py": use}
    other = {"src/__init__.py": "", "src/states.py": plain, "tests/test_use.py": use.replace("# JAX401", "")}
    nested = {f"all/one/{path}": text for path, text in files.items()}
    check(tmp_path, nested | {f"all/another/{path}": text for path, text in other.items()})


def test_of_modules_of_one_name_beside_a_file_none_is_meant(tmp_path: Path) -> None:
    """A file around two programs runs in one of them, and nobody knows in which; with one of them it is known."""
    use = "from states import State" + textwrap.dedent(STEP)
    plain = "class State:\n    x = 0\n"
    both = {"torch/states.py": plain, "torch/run.py": "", "jaxed/states.py": STATE, "jaxed/run.py": ""}
    check(tmp_path / "two", both | {"use.py": use.replace("# JAX401", "")})
    check(tmp_path / "one", {"jaxed/states.py": STATE, "jaxed/run.py": "", "use.py": use})


def test_stub_beside_nothing(tmp_path: Path) -> None:
    check(tmp_path, {"states.pyi": STATE, "use.py": "from states import State" + textwrap.dedent(STEP)})


def test_package_wins_over_module(tmp_path: Path) -> None:
    use = "from states import State" + textwrap.dedent(STEP)
    check(tmp_path, {"states/__init__.py": STATE, "states.py": "class State: ...", "use.py": use})


# -- cycles ----------------------------------------------------------------------------------


def test_import_cycle(tmp_path: Path) -> None:
    check(
        tmp_path,
        {
            "p/__init__.py": "from .a import A\nfrom .b import B\n",
            "p/a.py": """
                from flax import struct
                from . import b

                @struct.dataclass
                class A:
                    x: int

                    def meet(self, other: "b.B"):
                        other.y = 1  # JAX401
            """,
            "p/b.py": """
                from flax import struct
                from . import a

                @struct.dataclass
                class B:
                    y: int

                    def meet(self, other: "a.A"):
                        other.x = 1  # JAX401
            """,
        },
    )


def test_names_that_go_in_circles(tmp_path: Path) -> None:
    step = textwrap.dedent(STEP).replace("# JAX401", "")
    check(
        tmp_path,
        {
            "a.py": "from b import State" + step,
            "b.py": "from c import *" + step,
            "c.py": "from a import *" + step,
            "d.py": "State = Other\nOther = State" + step,
            "e.py": "from e import State" + step,
            "f.py": "from f import *" + step,
            "g.py": "State = State" + step,
            "ok.py": textwrap.dedent(STATE + STEP),
        },
    )


def test_base_classes_that_go_in_circles(tmp_path: Path) -> None:
    check(
        tmp_path,
        {
            "a.py": "from b import B\nclass A(B):\n    x: int\n",
            "b.py": "from a import A\nclass B(A):\n    y: int\n\ndef step(b: B):\n    b.y = 1\n",
            "ok.py": textwrap.dedent(STATE + STEP),
        },
    )


# -- installed packages ----------------------------------------------------------------------

INSTALLED = "from installed.states import State" + textwrap.dedent(STEP)


def environment(root: Path) -> Path:
    """A folder that looks like a virtual environment with one package in it."""
    folder = root / "environment"
    site = folder / "lib" / "python3.11" / "site-packages"
    write(site, {"installed/__init__.py": "", "installed/states.py": STATE})
    write(folder, {"pyvenv.cfg": ""})
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    return folder


def certain(path: Path, python: str | None) -> list[tuple[str, int]]:
    result = check_paths([str(path)], Settings(python=python))
    assert result.errors == []
    return [(f.code, f.row) for f in result.findings]


def test_installed_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    folder = environment(tmp_path)
    write(tmp_path, {"code/use.py": INSTALLED})
    use = tmp_path / "code"
    assert certain(use, None) == []
    assert certain(use, str(folder)) == [("JAX401", 3)]
    assert certain(use, str(folder / "bin" / "python")) == [("JAX401", 3)]
    monkeypatch.setenv("VIRTUAL_ENV", str(folder))
    assert certain(use, None) == [("JAX401", 3)]
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "gone"))
    assert certain(use, None) == []


def test_one_s_own_modules_win_over_installed_ones(tmp_path: Path) -> None:
    folder = environment(tmp_path)
    write(
        tmp_path,
        {
            "code/use.py": INSTALLED,
            "code/installed/__init__.py": "",
            "code/installed/states.py": "class State:\n    x = 0\n",
        },
    )
    assert certain(tmp_path / "code", str(folder)) == []


def test_editable_install(tmp_path: Path) -> None:
    folder = environment(tmp_path)
    write(tmp_path, {"elsewhere/src/editable/__init__.py": STATE})
    write(tmp_path, {"code/use.py": "from editable import State" + textwrap.dedent(STEP)})
    assert certain(tmp_path / "code", str(folder)) == []
    site = folder / "lib" / "python3.11" / "site-packages"
    lines = ["# a comment", "import sys; raise SystemExit('never run')", "", str(tmp_path / "elsewhere" / "src")]
    (site / "__editable__.pth").write_text(os.linesep.join(lines))
    assert certain(tmp_path / "code", str(folder)) == [("JAX401", 3)]


def test_relative_path_in_pth(tmp_path: Path) -> None:
    folder = environment(tmp_path)
    write(tmp_path, {"elsewhere/editable.py": STATE})
    write(tmp_path, {"code/use.py": "from editable import State" + textwrap.dedent(STEP)})
    (folder / "lib" / "python3.11" / "site-packages" / "a.pth").write_text("../../../../elsewhere\n")
    assert certain(tmp_path / "code", str(folder)) == [("JAX401", 3)]


def test_stub_package(tmp_path: Path) -> None:
    """Inherited from a class that is installed as a stub only."""
    folder = environment(tmp_path)
    write(folder / "lib" / "python3.11" / "site-packages", {"stubbed/__init__.pyi": STATE})
    use = "from stubbed import State\n\nclass Mine(State): ...\n" + textwrap.dedent(STEP)
    write(tmp_path, {"code/use.py": use})
    assert certain(tmp_path / "code", str(folder)) == [("JAX401", 6)]


# -- configured and home-made declarations ---------------------------------------------------


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


@pytest.mark.parametrize("folder", ["agents", "my-agents"])
def test_stray_init_beside_the_scripts(folder: str, tmp_path: Path) -> None:
    """A repository whose root holds an `__init__.py`; its scripts run in it, and import what stands beside them."""
    files = {
        f"{folder}/pyproject.toml": "",
        f"{folder}/__init__.py": "",
        f"{folder}/lib/__init__.py": "",
        f"{folder}/lib/states.py": STATE,
        f"{folder}/train.py": USE,
        f"{folder}/runs/__init__.py": "",
        f"{folder}/runs/evaluate.py": USE,
    }
    check(tmp_path, files)
