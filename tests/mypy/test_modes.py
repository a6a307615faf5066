"""The same findings however mypy is run: cold, warm, edited, in parallel, in the daemon."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mypy.corpus import PROGRAMS
from tests.mypy.run import CONFIG, SMALL_CONFIG, environment, mypy
from tests.needs import needs
from tests.patience import PATIENCE

pytestmark = pytest.mark.comparisons

needs("flax")

#: Two modules that import each other, a base class elsewhere, a class before its base, untyped frameworks.
PROJECT = {
    "base.py": """
from __future__ import annotations
import typing as t
import jax
from flax import struct
if t.TYPE_CHECKING:
    from leaf import Leaf

@struct.dataclass
class Base:
    x: jax.Array
    n: int = struct.field(pytree_node=False, default=0)

    def leaf(self) -> Leaf:
        from leaf import Leaf
        return Leaf(x=self.x, n=1)
""",
    "leaf.py": """
import jax
from flax import struct
from base import Base

@struct.dataclass
class Leaf(Base):
    m: int = 0

    def grow(self) -> "Leaf":
        self.m += 1
        return self.replace(n=self.n + 1, m=2)
""",
    "use.py": """
import typing as t
import chex
import jax
from base import Base
from leaf import Leaf

def f(s: Base, leaf: Leaf) -> Base:
    s.n = 1
    leaf.leaf().m = 2
    leaf.replace(bogus=2)
    s.replace(n=1)
    return s.replace(x=s.x)

def untyped(s):
    b = Base(x=s, n=2)
    b.n = 3
    return b

T = t.TypeVar("T")
def later(c: "C[int]") -> None:
    c.v = 1

@chex.dataclass(frozen=True)
class C(t.Generic[T]):
    v: T
    w: t.Optional[int] = None

def local() -> None:
    @chex.dataclass(frozen=True)
    class D:
        v: int
    D(v=1).v = 2
    d = D(v=2)
    d.replace(z=1)
""",
    "named.py": """
import jax
from flax import struct

@struct.dataclass
class Named:
    x: jax.Array
    name: str

@jax.jit
def double(named: Named) -> Named:
    return named.replace(x=named.x * 2)
""",
    "made.py": """
import dataclasses
import typing as t
import jax
from simple_pytree import Pytree
from base import Base

T = t.TypeVar("T")
FIRST: t.Optional[Base] = None

@dataclasses.dataclass
class Made(Pytree, t.Generic[T]):
    base: Base
    more: T

class Wants(t.Protocol):
    def replace(self, *, more: str) -> object: ...

def make(base: Base) -> "Made[Base]":
    Made(base=base, more=base, most=base)
    return Made(base=base, more=base).replace(more=base)
""",
}
_OURS = re.compile(r"\[jaxlint-[\w-]+\]$")
#: A part of the corpus.
SAMPLE = list(PROGRAMS)[::8]

#: Each step changes one file of `PROJECT`.
EDITS: list[tuple[str, str, str]] = [
    ("base.py", "@struct.dataclass\n", "@struct.dataclass(frozen=False)\n"),
    ("base.py", "@struct.dataclass(frozen=False)\n", "@struct.dataclass\n"),
    ("base.py", "    n: int = struct.field(pytree_node=False, default=0)", "    k: int = struct.field(default=0)"),
    ("base.py", "    k: int = struct.field(default=0)", "    n: int = struct.field(default=0)"),
    ("base.py", "    n: int = struct.field(default=0)", "    n: int = struct.field(pytree_node=False, default=0)"),
    ("base.py", "    x: jax.Array\n", "    x: jax.Array = struct.field(pytree_node=False)\n"),
    ("base.py", "    x: jax.Array = struct.field(pytree_node=False)\n", "    x: jax.Array\n"),
    ("leaf.py", "class Leaf(Base):", "class Leaf:"),
    ("leaf.py", "class Leaf:", "class Leaf(Base):"),
    ("leaf.py", "    m: int = 0", "    m: int = 0\n    o: list[int] = []"),
    ("use.py", "    s.n = 1\n", "    pass\n"),
    ("made.py", "    return Made(", "    wanted: Wants = Made(base=base, more=base)\n    return Made("),
    ("made.py", "    base: Base\n", "    base: Base\n    kind: int = 0\n"),
    ("named.py", "    name: str\n", "    name: str = struct.field(pytree_node=False)\n"),
    ("named.py", "    name: str = struct.field(pytree_node=False)\n", "    name: str\n"),
    ("use.py", "class C(t.Generic[T]):", "class C(t.Generic[T]):\n    u: int = 0"),
]


def write(folder: Path, config: str = SMALL_CONFIG) -> None:
    (folder / "mypy.ini").write_text(config)
    for name, text in PROJECT.items():
        (folder / name).write_text(text)


def lines(output: str) -> list[str]:
    """The reports in an order that does not depend on that of the files; without the last line."""
    return sorted(line for line in output.splitlines() if ".py:" in line)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, libraries: Path) -> Path:
    """The project and a part of the corpus, with the real libraries, of which alone mypy knows something."""
    folder = tmp_path_factory.mktemp("modes")
    shutil.copytree(libraries, folder / ".mypy_cache")
    write(folder, CONFIG)
    for name in SAMPLE:
        (folder / f"{name}.py").write_text(PROGRAMS[name].text)
    return folder


@pytest.fixture(scope="module")
def cold(folder: Path) -> list[str]:
    return lines(mypy(folder, "."))


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest, is_thorough: bool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is checked with options, for each of which mypy reads the libraries anew.

    The project with small libraries; with `--thorough`, the part of the corpus with the real ones.
    """
    if is_thorough:
        return Path(request.getfixturevalue("folder"))
    place = tmp_path_factory.mktemp("project")
    write(place)
    return place


@pytest.fixture(scope="module")
def expected(place: Path) -> list[str]:
    """What mypy reports there without options."""
    found = lines(mypy(place, ".", f"--cache-dir={os.devnull}"))
    assert sum("[jaxlint-" in line for line in found) >= 8
    return found


def test_the_project(cold: list[str]) -> None:
    found = [line for line in cold if line.startswith(tuple(PROJECT))]
    assert [line.split(": ")[0] for line in found if "[jaxlint-" in line] == [
        "leaf.py:11",
        "leaf.py:12",
        "named.py:8",
        "use.py:10",
        "use.py:12",
        "use.py:17",
        "use.py:22",
        "use.py:33",
        "use.py:9",
    ]
    assert [line.split(": ")[0] for line in found if "[call-arg]" in line] == [
        "made.py:20",
        "use.py:11",
        "use.py:35",
    ]
    assert all("[jaxlint-" in line or "[call-arg]" in line for line in found)


def test_warm(folder: Path, cold: list[str]) -> None:
    assert lines(mypy(folder, ".")) == cold


def test_edited(folder: Path, cold: list[str]) -> None:
    for name in ("base.py", "use.py", f"{SAMPLE[0]}.py"):
        with open(folder / name, "a") as file:
            file.write("\n# edited\n")
    assert lines(mypy(folder, ".")) == cold


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--cache-fine-grained",), id="fine-grained"),
        pytest.param(("-n", "2"), id="parallel"),
        pytest.param(("--no-native-parser",), id="old-parser"),
    ],
)
def test_options(place: Path, expected: list[str], options: tuple[str, ...], tmp_path: Path) -> None:
    if options[0] in ("-n", "--no-native-parser") and options[0] not in mypy(place, "--help"):
        pytest.skip("this mypy has no such option")
    cache = f"--cache-dir={tmp_path / 'cache'}"
    for _ in range(2):
        try:
            found = mypy(place, ".", cache, *options)
        except AssertionError as error:
            if "Failed to establish connection with worker" in str(error):
                pytest.skip("mypy has not waited long enough for its own workers")
            raise
        assert lines(found) == expected


def test_strict_adds_only_what_mypy_says_itself(place: Path, expected: list[str], tmp_path: Path) -> None:
    strict = lines(mypy(place, ".", "--strict", f"--cache-dir={tmp_path / 'cache'}"))
    assert [line for line in strict if _OURS.search(line)] == [line for line in expected if _OURS.search(line)]


def test_untyped_bodies(tmp_path: Path) -> None:
    """Without check_untyped_defs mypy does not look into functions without annotations, and so nor does jaxlint."""
    write(tmp_path)
    (tmp_path / "mypy.ini").write_text(SMALL_CONFIG.replace("check_untyped_defs = True\n", ""))
    rows = [line.split(": ")[0] for line in lines(mypy(tmp_path, ".")) if "[jaxlint-" in line]
    assert "use.py:17" not in rows
    assert "use.py:9" in rows


#: A flax whose functions have no annotations, as those of the real one, and that depends on another package.
_UNTYPED_FLAX = {
    "flax/__init__.py": "",
    "flax/struct.py": """from packed import pack
def field(pytree_node=True, **kwargs):
    return pack(pytree_node)
class PyTreeNode:
    def __init_subclass__(cls, **kwargs):
        pack(1)
""",
    "packed.py": "def pack(x: int) -> int:\n    return x\n",
}


def test_functions_of_flax_have_types_when_only_a_dependency_of_it_changed(tmp_path: Path) -> None:
    """mypy then analyzes flax again without telling that it reads its files."""
    for name, text in _UNTYPED_FLAX.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    use = "from flax import struct\nclass Node(struct.PyTreeNode):\n    n: int = struct.field(pytree_node=False)\n"
    (tmp_path / "use.py").write_text(use)
    (tmp_path / "mypy.ini").write_text(f"{CONFIG}disallow_untyped_calls = True\n")
    assert "no-untyped-call" in mypy(tmp_path, "use.py", "--config-file=", "--disallow-untyped-calls")
    assert mypy(tmp_path, "use.py") == "Success: no issues found in 1 source file\n"
    (tmp_path / "packed.py").write_text("def pack(x: int, y: int = 0) -> int:\n    return x\n")
    assert "no-untyped-call" not in mypy(tmp_path, "use.py")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "project"
    folder.mkdir()
    write(folder)
    yield folder
    dmypy(folder, "stop")


def dmypy(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.dmypy", *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done.stdout


def test_daemon(daemon: Path, tmp_path: Path) -> None:
    """After each edit the daemon says what a fresh mypy says."""
    dmypy(daemon, "start")
    other = tmp_path / "fresh"
    for name, before, after in [("", "", ""), *EDITS]:
        if name:
            text = (daemon / name).read_text()
            assert before in text
            (daemon / name).write_text(text.replace(before, after, 1))
        shutil.copytree(daemon, other, ignore=shutil.ignore_patterns(".*"), dirs_exist_ok=True)
        updated = lines(dmypy(daemon, "check", "."))
        fresh = lines(mypy(other, "."))
        assert updated == fresh, (name, after)
