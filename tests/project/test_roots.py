"""Where imports start, and those that go in circles: bugs are found only where classes are known."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from jaxlint import check_paths
from jaxlint.config.settings import Settings
from tests.project.marked import STATE, STEP, check, write

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
