"""What is known of a project as a whole: it is the same however it comes to be, and made again only for a reason."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from jaxlint.cache.digests import digest
from jaxlint.cache.packs import PackWriter
from jaxlint.cache.store import Cache
from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence
from jaxlint.linter import checker as checking
from jaxlint.linter import storage
from jaxlint.linter.checker import Checker
from jaxlint.linter.engine import check_paths, make_project
from jaxlint.linter.storage import Storage
from jaxlint.project.index import ProjectIndex, StoredIndex
from jaxlint.project.modules import Module, Project
from jaxlint.symbols import facts
from jaxlint.symbols.outline import Outline
from tests.small_project import BOTH, STEP, found, write_project

pytestmark = pytest.mark.usefixtures("small_heap")
FIXTURES = sorted((Path(__file__).parent.parent.parent / "fixtures").rglob("*.py"))


def test_only_what_leads_to_a_change_is_checked_again(tmp_path: Path, checked: list[str]) -> None:
    project = write_project(tmp_path / "project")
    cache = tmp_path / "cache"
    leaf, made = project / "leaf.py", project / "made.py"
    leaf.write_text("from state import State\n\n\ndef f(state: State):\n    state.x = 1\n    return 1\n")
    assert len(found(project, cache)) == 3
    checked.clear()
    leaf.write_text("from state import State\n\n\ndef f(state: State):\n    state.x = 2 + 2\n    return 2\n")
    assert [place for place in found(project, cache) if place not in BOTH] == [("leaf.py", 5, "JAX401")]
    assert {os.path.basename(path) for path in checked} == {"leaf.py"}
    checked.clear()
    made.write_text(made.read_text().replace("return State(x=1)", "return 3"))
    assert [place for place in found(project, cache) if place[0] != "leaf.py"] == BOTH[:1]
    assert {os.path.basename(path) for path in checked} == {"made.py", "used.py"}
    # what a class is called is part of the index, on which all depend
    checked.clear()
    leaf.write_text("from state import State\n\n\nclass Leaf(State):\n    y: int = 0\n")
    assert [place for place in found(project, cache) if place[0] != "leaf.py"] == BOTH[:1]
    assert len(set(checked)) == len(list(project.glob("*.py")))


def test_what_others_tell_as_well_is_no_change(tmp_path: Path, checked: list[str]) -> None:
    """The part of a module differs, and the sum of all parts does not."""
    project, cache = write_project(tmp_path / "project"), tmp_path / "cache"
    filling = "from state import State\n\n\ndef fill(state: State, xs):\n    xs.append(state.x)\n"
    leaf, other = project / "leaf.py", project / "other.py"
    leaf.write_text(filling)
    other.write_text(filling)
    every = {path.name for path in project.glob("*.py")}
    for path, text, again in (
        (leaf, "from state import State\n", {"leaf.py"}),
        (leaf, filling, {"leaf.py"}),
        (other, "from state import State\n", {"other.py"}),
        (leaf, "from state import State\n", every),  # now nobody tells it
    ):
        found(project, cache)
        checked.clear()
        path.write_text(text)
        found(project, cache)
        assert {os.path.basename(path) for path in checked} == again


def test_it_is_indexed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, cache = write_project(tmp_path / "project"), tmp_path / "cache"
    assert found(project, cache) == BOTH

    def refuse(*_: object) -> None:
        raise AssertionError("it is known")

    monkeypatch.setattr(Checker, "build_index", refuse)
    step = project / "step.py"
    step.write_text("# a comment\n" + step.read_text())
    assert found(project, cache) == [("step.py", 6, "JAX402"), BOTH[1]]


@pytest.mark.parametrize("damage", ["absent", "garbage", "torn", "of another run", "of another shape"])
def test_damage(tmp_path: Path, damage: str) -> None:
    project, folder = write_project(tmp_path / "project"), tmp_path / "cache"
    assert found(project, folder) == BOTH
    (path,) = folder.glob("*/runs/*")
    cache, key = Cache(str(folder)), bytes.fromhex(path.name)
    record = cache.run(key)
    assert record is not None
    indexed = cache.indexed(key, record.project_index)
    assert indexed is not None and msgspec.msgpack.decode(indexed, type=StoredIndex).index.imports.relevant
    content = path.read_bytes()
    assert content.endswith(indexed)
    own = content[: -len(indexed)]
    match damage:
        case "absent":
            path.write_bytes(own)
        case "garbage":
            path.write_bytes(own + os.urandom(len(indexed)))
        case "torn":
            path.write_bytes(content[:-10])
        case "of another run":
            path.write_bytes(
                own + msgspec.msgpack.encode(StoredIndex(msgspec.Raw(msgspec.msgpack.encode(ProjectIndex())), {}))
            )
        case _:
            other = msgspec.msgpack.encode(["of", "another", "shape"])
            cache.keep_run(key, msgspec.structs.replace(record, project_index=digest(other)), other)
    assert cache.run(key) is not None
    step = project / "step.py"
    step.write_text("# a comment\n" + step.read_text())
    assert found(project, folder) == [("step.py", 6, "JAX402"), BOTH[1]]


def test_parts_make_the_whole(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project")
    (project / "more.py").write_text(STEP.format(field="q") + "\n\nclass More(State):\n    w: int = 0\n")
    files = sorted(map(str, project.glob("*.py")))

    def build_index(own: list[str]) -> ProjectIndex:
        checker = Checker(make_project(files, Settings()), Settings())
        checker.build_index([checker.project.add_file(path) for path in own])
        return checker.project_index

    whole = build_index(files)
    assert whole.subclasses and whole.imports.importers
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(whole), type=ProjectIndex) == whole
    parts = build_index(files[:2])
    for rest in (files[2:4], files[4:]):
        parts.add(build_index(rest))
    parts.imports = whole.imports
    assert parts == whole


def write_family(folder: Path) -> list[str]:
    """Modules whose classes are only known once all modules are read: a later one may register them."""
    texts = {
        "base": "import jax\nfrom flax import struct\n\n\n@struct.dataclass\nclass Base:\n    x: jax.Array\n",
        "child": "from base import Base\n\n\nclass Child(Base):\n    y: int = 0\n",
        "other": "from base import Base\n\n\nclass Other(Base):\n    z: int = 0\n\n\nmade = Other(0)\n",
        "registers": "import jax\nfrom child import Child\n\njax.tree_util.register_dataclass(Child)\n",
        "uses": "from child import Child\n\nmade = Child(0)\n",
    }
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return sorted(map(str, folder.glob("*.py")))


@pytest.mark.parametrize("budget", [0, 300, 600, 1_000])
def test_a_project_that_does_not_fit_into_memory(tmp_path: Path, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write_family(tmp_path)
    expected = check_paths([str(tmp_path)]).findings
    assert [(Path(f.path).name, f.code) for f in expected] == [("other.py", "JAX101")]
    monkeypatch.setattr(facts, "_OUTLINES_IN_MEMORY", budget)
    monkeypatch.setattr(storage, "_ALL_IN_MEMORY", -1)
    started: list[ProjectIndex] = []
    start = Checker._start

    def noted(checker: Checker, project_index: ProjectIndex) -> None:
        started.append(project_index)
        start(checker, project_index)

    monkeypatch.setattr(Checker, "_start", noted)
    assert check_paths([str(tmp_path)]).findings == expected
    assert len(started) >= (len(files) if budget == 0 else 2)


def test_a_statement_that_goes_on_in_an_empty_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read where all of its file is parsed, and where it is parsed alone."""
    text = "from flax import struct\n\n\n@struct.dataclass\nclass State:\n    x: int\n\n\ny = State(x=1) \\\n\n"
    (tmp_path / "main.py").write_text(
        text + "def f(state: State) -> None:\n    state.x = 2 \\\n\n\ny.x = 3 \\\n# end\n"
    )
    expected = check_paths([str(tmp_path)]).findings
    assert [(f.row, f.code) for f in expected] == [(12, "JAX401"), (15, "JAX401")]
    monkeypatch.setattr(facts, "_OUTLINES_IN_MEMORY", 0)
    monkeypatch.setattr(storage, "_ALL_IN_MEMORY", -1)
    assert check_paths([str(tmp_path)]).findings == expected


#: Each imports the package, which imports them all: each may be given what any other one has made.
PART = """
import ring
from ring.base import Base


class Part{i}(Base):
    def scaled{i}(self, by):
        return self.replace(x=self.x * by)


def step{i}(part):
    return part.scaled{i}(2.0)


def run(part: Base):
    part.scaled(2.0)
    return ring.step{next}(part).scaled(3.0)
"""


def outlines_read(folder: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many outlines are read again in a project of which nothing stays in memory."""
    package = folder / "ring"
    package.mkdir(parents=True)
    base = "from flax import struct\nimport jax\n\n\nclass Base(struct.PyTreeNode):\n    x: jax.Array\n"
    (package / "base.py").write_text(base + "\n    def scaled(self, by):\n        return self.replace(x=self.x * by)\n")
    (package / "__init__.py").write_text("".join(f"from ring.part{i} import step{i}\n" for i in range(size)))
    for i in range(size):
        (package / f"part{i}.py").write_text(PART.format(i=i, next=(i + 1) % size))
    monkeypatch.setattr(facts, "_OUTLINES_IN_MEMORY", 0)
    monkeypatch.setattr(storage, "_ALL_IN_MEMORY", -1)
    read: list[facts.Facts] = []
    outline = facts.FactsStore.outline

    def noted(store: facts.FactsStore, of: facts.Facts) -> Outline | None:
        read.append(of)
        return outline(store, of)

    with monkeypatch.context() as patching:
        patching.setattr(facts.FactsStore, "outline", noted)
        assert {f.code for f in check_paths([str(folder)]).findings} == {"JAX403"}
    return len(read)


def test_what_is_asked_of_all_modules_does_not_read_their_outlines_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read of a large project grows with its size, not with its square."""
    few, many = (outlines_read(tmp_path / str(size), size, monkeypatch) for size in (10, 40))
    assert few >= 10
    assert many < 6 * few


def test_who_imports_whom_is_found_out_in_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that imports all others, which most packages have, does not bring all their outlines into memory."""
    for i in range(40):
        (tmp_path / f"part{i}.py").write_text(f"import flax\n\n\ndef f{i}():\n    return {i}\n")
    (tmp_path / "all_parts.py").write_text("".join(f"import part{i}\n" for i in range(40)))
    monkeypatch.setattr(facts, "_OUTLINES_IN_MEMORY", 0)
    monkeypatch.setattr(storage, "_ALL_IN_MEMORY", -1)
    modules: list[Module] = []
    together: list[int] = []
    parsed = Module._parsed

    def noted(module: Module) -> Outline:
        modules.append(module)
        together.append(sum("outline" in vars(one) for one in modules))
        return parsed(module)

    monkeypatch.setattr(Module, "_parsed", noted)
    assert check_paths([str(tmp_path)]).files == len(modules) == 41
    assert max(together) < 4


def test_what_a_module_was_asked_leaves_nothing_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One module may ask all others, whose outlines and texts nobody needs but for the answers."""
    monkeypatch.setattr(facts, "_OUTLINES_IN_MEMORY", 300)
    for is_large in (False, True):
        project = Project()
        project.store = facts.FactsStore((), PackWriter(str(tmp_path / "pack"), "test"), is_large=lambda: is_large)  # noqa: B023
        modules = []
        for i in range(5):
            (tmp_path / f"{i}.py").write_text(f"from functools import partial\n\n\nf = partial(g{i}, 1)\n")
            modules.append(project.add_file(str(tmp_path / f"{i}.py")))
        answers = project.ask("mentions", "g1", [module.path for module in modules], modules[0])
        assert answers == {modules[1].path: "g"}
        kept = [module for module in modules if module._source is not None or "outline" in vars(module)]
        assert kept == ([] if is_large else modules)
        assert (project.store._in_memory == 0) is is_large
        read = modules[2]
        assert read.outline.units
        assert project.ask("hands on", "", [read.path], modules[0]) == {}
        assert "outline" in vars(read)  # it was not read for the answer


def test_what_was_found_out_about_statements_goes_with_their_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trees of a large project are not held by who has looked at them last."""
    write_family(tmp_path)
    monkeypatch.setattr(storage, "_ALL_IN_MEMORY", -1)
    monkeypatch.setattr(facts, "_OUTLINES_IN_MEMORY", 2_000)  # not full, but large
    forgotten: list[str] = []
    monkeypatch.setattr(checking, "forget_statements", lambda: forgotten.append(""))
    assert check_paths([str(tmp_path)]).findings
    assert len(forgotten) >= 5


def test_a_full_disk_costs_memory_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_family(tmp_path)
    expected = check_paths([str(tmp_path)]).findings
    monkeypatch.setattr(facts, "_OUTLINES_IN_MEMORY", 0)
    monkeypatch.setattr(storage, "_ALL_IN_MEMORY", -1)

    def fail(writer: PackWriter) -> None:
        writer._abandon(OSError(28, "No space left on device"))

    monkeypatch.setattr(PackWriter, "open", fail)
    assert check_paths([str(tmp_path)]).findings == expected
    monkeypatch.setattr(Storage, "new_place", lambda _: None)
    assert check_paths([str(tmp_path)]).findings == expected


def test_classes_in_a_cycle_are_the_same_whoever_asks_first(tmp_path: Path) -> None:
    names = "abc"
    for name, base in zip(names, "bca", strict=True):
        text = (
            f"from flax import struct\nfrom {base} import {base.upper()}\n\n\nclass {name.upper()}({base.upper()}):\n"
        )
        (tmp_path / f"{name}.py").write_text(text + "    x: int = 0\n")
    files = [str(tmp_path / f"{name}.py") for name in names]

    def parents(checker: Checker, order: str) -> dict[str, list[str]]:
        modules = [checker.project.add_file(str(tmp_path / f"{name}.py")) for name in order]
        classes = [cls for module in modules for cls in checker.model.classes_in(module)]
        return {cls.name: [one.name for one in cls.mro] for cls in sorted(classes, key=lambda cls: cls.name)}

    first = Checker(make_project(files, Settings()), Settings())
    first.build_index([first.project.add_file(path) for path in files])
    assert first.project_index.cycles
    expected = parents(first, names)
    for order in ("abc", "bca", "cba"):
        other = Checker(make_project(files, Settings()), Settings())
        other.adopt(first.project_index)
        assert parents(other, order) == expected
    assert not check_paths([str(tmp_path)]).errors


#: A module, an edit of the body of a function in it that says what it returns, and a module that looks into that.
LOOKED_INTO = (
    (
        "def damage(s: S, k: jax.Array) -> S:\n    y = jnp.add(k, 1)\n    return s.replace(hp=s.hp - y)\n",
        ("jnp.add(", "seen.add("),
        "def run(s: S, k: jax.Array) -> S:\n    damage(s, k)\n    return s\n",
    ),
    (
        "def check(m: jax.Array) -> None:\n    n = m.shape\n    assert n[0] == 2\n",
        ("n = m.shape", "n = known"),
        "class T(struct.PyTreeNode):\n    m: jax.Array\n\n    def __post_init__(self):\n        check(self.m)\n",
    ),
)


@pytest.mark.parametrize(("helper", "edit", "user"), LOOKED_INTO)
def test_bodies_that_others_look_into_are_seen(tmp_path: Path, helper: str, edit: tuple[str, str], user: str) -> None:
    head = "import jax\nimport jax.numpy as jnp\nfrom flax import struct\n"
    state = "seen = set()\nknown = (2, 3)\n\n\n@struct.dataclass\nclass S:\n    hp: jax.Array\n\n\n"
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "main.py").write_text(head + "from helpers import *\n\n\n" + user)
    found = []
    for text in (helper, helper.replace(*edit)):
        (tmp_path / "helpers.py").write_text(head + state + text)
        guesses = Settings(min_confidence=Confidence.LOW)
        caches = (Cache(str(tmp_path / "c")), None)
        cached, fresh = (check_paths([str(tmp_path)], guesses, cache=c).findings for c in caches)
        assert cached == fresh
        found.append(len(fresh))
    assert found == [1, 0]
