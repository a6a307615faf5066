"""Names that are imported, and handed on: bugs are found only where classes are known."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.project.marked import STATE, STEP, check


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
