"""After an edit, what is found is what a fresh check finds; modules that it does not concern are not indexed again."""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.editor import HEADER, PART
from jaxlint.editor.workspace import Workspace
from jaxlint.finding import Finding
from jaxlint.infer.reading.indexing import Indexer
from jaxlint.project.index import ProjectIndex
from jaxlint.project.modules import Module
from tests.editor.edits import edited, edited_class

pytestmark = pytest.mark.comparisons

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("*/*.py"))

ALL = 'select = ["JAX"]\npreview = true\nmin-confidence = "low"\n'


class Editor:
    """A file that is edited; each answer is compared with that of a fresh workspace."""

    def __init__(self, folder: Path) -> None:
        (folder / "jaxlint.toml").write_text(ALL)
        self.path = str(folder / "module.py")
        self.workspace = Workspace([str(folder)])

    def show(self, text: str) -> list[Finding]:
        self.workspace.set_text(self.path, text)
        found = self.workspace.findings(self.path)
        fresh = Workspace([str(Path(self.path).parent)])
        fresh.set_text(self.path, text)
        assert found == fresh.findings(self.path), text
        assert self.project_index(self.workspace) == self.project_index(fresh), text
        assert not self.workspace.take_errors()
        return found

    def project_index(self, workspace: Workspace) -> ProjectIndex:
        """What is known of the project."""
        group = workspace._group(self.path)
        assert group is not None
        return group.checker().project_index


BEGIN = """import jax
from flax import struct


@struct.dataclass
class State:
    step: int = struct.field(pytree_node=False, default=0)
    name: str = "x"


"""


#: Functions that tell others something, so that what is found in one of them depends on another one.
ENTANGLED = (
    # what a call passes concerns the function that is called
    "def helper(state):\n    state.step = 1\n\n\ndef caller(state: State, other: object) -> None:\n    helper(other)\n",
    # the body of one function transforms another one
    "def changed(state: State) -> None:\n    state.name = 1\n    state.replace(step=2)\n\n\n"
    "def caller(state: State) -> object:\n    f = changed\n    f(state)\n    return None\n",
    # what goes into a transformed function counts for the class
    "@jax.jit\ndef compiled(state) -> object:\n    return None\n\n\n"
    "def caller(state: State, other: object) -> None:\n    compiled(other)\n",
    # the body of a function tells what its callers get
    "def made(state: State):\n    other = state\n    return other\n\n\n"
    "def caller(state: State) -> None:\n    made(state).step = 1\n",
    # the body of a constructor tells what instances are
    "class Holder:\n    def __init__(self, state: State) -> None:\n        held = state\n"
    "        self.held = held\n\n\ndef caller(holder: Holder) -> None:\n    holder.held.step = 1\n",
    # a comment hides what comes in the same row
    "def first(state: State) -> None:\n    pass\n\n\n"
    "def second(state: State) -> None:\n    state.step = 1  # noqa: JAX401\n",
    # the body of a function is looked into where it is transformed
    "def changed(numbers: list) -> object:\n    pass\n\n\n"
    "def caller(numbers: list) -> object:\n    return jax.jit(changed)(numbers)\n",
    "def made(state: State) -> object:\n    other = state\n    return other\n\n\n"
    "def caller(state: State) -> None:\n    made(state).step = 1\n",
    # a function that does something makes others tell what they give it
    "def helper(state) -> None:\n    pass\n\n\ndef caller(state: State) -> None:\n    helper(state)\n",
    "def helper(state) -> None:\n    pass\n\n\n"
    "def caller(state: State) -> None:\n    state.replace(step=1)\n    helper(state)\n",
    # what one function calls tells how all of them are transformed
    "import equinox as eqx\n\n\nclass Model(eqx.Module):\n    name: str\n\n\n"
    "@jax.jit\ndef run(model: Model) -> None:\n    pass\n\n\n"
    "def split(model: Model) -> object:\n    return None\n",
)


def test_a_module_that_knows_itself_through_another(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("from module import State\n\n\ndef made() -> State:\n    return State()\n")
    editor = Editor(tmp_path)
    text = "from other import made\n" + BEGIN + "def use() -> object:\n    return made().replace(extra=1)\n"
    for shown in (text, text.replace('"x"', '"x"\n    extra: int = 0'), text, text + "    made().step = 1\n", text):
        editor.show(shown)


def test_modules_that_an_edit_concerns_are_learnt_from_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    index_module = Indexer.index_module

    def noted(self: Indexer, module: Module) -> None:
        asked.append(module.name)
        index_module(self, module)

    monkeypatch.setattr(Indexer, "index_module", noted)
    use = "from {0} import {1}\n\n\ndef use(one: {1}) -> object:\n    return one.replace(name=1)\n"
    (tmp_path / "wide.py").write_text(f"from module import State, struct\n\n\n{WIDE}")
    (tmp_path / "user.py").write_text(use.format("wide", "Wide"))
    (tmp_path / "other.py").write_text("from flax import struct\n\n\n" + WIDE.replace("(State)", ""))
    (tmp_path / "alone.py").write_text(use.format("other", "Wide"))
    (tmp_path / "module.py").write_text(BEGIN)
    editor = Editor(tmp_path)
    again: list[list[str]] = []
    for shown in (BEGIN, BEGIN.replace("name", "title"), BEGIN.replace("name", "titles"), BEGIN):
        editor.workspace.set_text(editor.path, shown)
        asked.clear()
        found = [editor.workspace.findings(str(path)) for path in sorted(tmp_path.glob("*.py"))]
        again.append(sorted(asked))
        fresh = Workspace([str(tmp_path)])
        fresh.set_text(editor.path, shown)
        assert found == [fresh.findings(str(path)) for path in sorted(tmp_path.glob("*.py"))]
        assert editor.project_index(editor.workspace) == editor.project_index(fresh)
        assert [finding.code for finding in found[3]] == ["JAX402"] * (shown is not BEGIN)
    everything = ["alone", "module", "other", "user", "wide"]
    assert again == [everything, *[["module", "user", "wide"]] * 3]


WIDE = "@struct.dataclass\nclass Wide(State):\n    more: int = 0\n"


def test_any_edits_of_classes(tmp_path: Path, is_thorough: bool) -> None:
    """Ten edits of each of 12 texts; of 70 with `--thorough`."""
    number = 70 if is_thorough else 12
    choice = random.Random(11)
    editor = Editor(tmp_path)
    seen: Counter[str] = Counter()
    for _ in range(number):
        paths = choice.sample(FIXTURES, 3)
        text = "\n\n".join(in_functions(path.read_text(encoding="utf-8"), path.stem) for path in paths)
        for _ in range(10):
            before = text
            text = (edited_class if choice.random() < 0.7 else edited)(text, choice)
            try:
                ast.parse(text)
            except (SyntaxError, ValueError):
                text = before if choice.random() < 0.9 else text
                continue
            found = editor.show(text)
            seen["edits"] += 1
            seen["telling"] += bool(found)
    assert seen["edits"] > 4 * number and seen["telling"] > 1.5 * number


def in_functions(text: str, name: str) -> str:
    """A program of which all that is no declaration happens in a function."""
    lines, declared, rest = text.split("\n"), [], [f"def run_{name}() -> None:", "    pass"]
    for node in ast.parse(text).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        rows = lines[first - 1 : node.end_lineno]
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
            declared += [*rows, "", ""] if rows[0] != "from __future__ import annotations" else []
        else:
            rest += ["    " + row for row in rows]
    return "\n".join([*declared, *rest])


def test_words_that_are_typed_anywhere(tmp_path: Path, is_thorough: bool) -> None:
    """In five places of each of two programs; in 14 with `--thorough`."""
    choice = random.Random(7)
    editor = Editor(tmp_path)
    functions = "\n\n".join(re.sub(r"\b(caller|helper)\b", rf"\1_{n}", text) for n, text in enumerate(ENTANGLED))
    words = ("state.step = 1", "state = state.replace(step=2)", "print(state.name)", "# noqa: JAX401", "other.step = 3")
    for begin in (HEADER + PART.format(i=0) + PART.format(i=1), BEGIN + functions):
        for _ in range(14 if is_thorough else 5):
            lines = begin.split("\n")
            at = choice.choice([number for number, row in enumerate(lines) if row.startswith("    ")])
            margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
            word = choice.choice(words)
            for end in sorted({0, 1, len(word) - 1, len(word), *choice.sample(range(len(word)), 6)}):
                editor.show("\n".join([*lines[:at], margin + word[:end], *lines[at:]]))
            if choice.random() < 0.3:
                begin = edited(begin, choice)
