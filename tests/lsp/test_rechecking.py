"""After an edit, what was found in units that it does not concern still holds, and is what a fresh check finds."""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.editor import FIELDS, HEADER, PART, program
from jaxlint.editor.rechecking import Rechecks
from jaxlint.editor.workspace import Workspace
from jaxlint.finding import Finding
from jaxlint.infer.indexing import Indexer
from jaxlint.project.index import ProjectIndex
from jaxlint.project.modules import Module
from tests.lsp.edits import edited, edited_class
from tests.lsp.stopping import Stop, Stopper

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("*/*.py"))

ALL = 'select = ["JAX"]\npreview = true\nmin-confidence = "low"\n'


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many units were looked at, check by check; -1 where the module was checked as a whole."""
    found: list[int] = []
    find = Rechecks.find

    def counted(self: Rechecks, *args: object) -> object:
        self.looked_at = -1
        result = find(self, *args)  # type: ignore[arg-type]
        found.append(self.looked_at)
        return result

    monkeypatch.setattr(Rechecks, "find", counted)
    yield found


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


def test_a_word_that_is_typed(tmp_path: Path, looked_at: list[int]) -> None:
    editor = Editor(tmp_path)
    text = program(200)
    at = text.index("    history = []", len(text) // 2)
    editor.show(text)
    editor.show(text[:at] + "\n" + text[at:])
    before = len(editor.show(text[:at] + "    s\n" + text[at:]))
    looked_at.clear()
    word = "    state.step = 1"
    counts = [len(editor.show(text[:at] + word[:end] + "\n" + text[at:])) for end in range(6, len(word) + 1)]
    assert counts[-1] == before + 1
    assert looked_at[::2] == [1] * len(looked_at[::2]) and len(looked_at) >= 16
    looked_at.clear()
    editor.show(text[:at] + word + "\n" + "    # a comment, and then\n\n" + text[at:])
    assert looked_at[0] == 1


@pytest.mark.parametrize("word", FIELDS)
def test_a_field_that_is_typed(tmp_path: Path, looked_at: list[int], word: str) -> None:
    editor = Editor(tmp_path)
    text = program(200)
    at = text.index("\n", text.index("    step: int", len(text) // 2)) + 1
    for shown in (text, text[:at] + "\n" + text[at:], text[:at] + "    e\n" + text[at:]):
        editor.show(shown)
    looked_at.clear()
    for end in range(6, len(word) + 1):
        editor.show(text[:at] + word[:end] + "\n" + text[at:])
    # the class, and the two functions that name it
    assert looked_at[::2] == [3] * len(looked_at[::2]) and len(looked_at) >= 16


def test_a_check_that_was_stopped_takes_nothing_away(tmp_path: Path, looked_at: list[int]) -> None:
    stopper = Stopper()
    text = program(200)
    at = text.index("    history = []", len(text) // 2)
    path = str(tmp_path / "module.py")
    workspace = Workspace([str(tmp_path)], step=stopper.step)
    for shown in (text, text[:at] + "\n" + text[at:]):
        workspace.set_text(path, shown)
        workspace.findings(path)
    for end in range(5, 14):
        workspace.set_text(path, text[:at] + "    statestep"[:end] + "\n" + text[at:])
        stopper.left = 6
        with pytest.raises(Stop):
            workspace.findings(path)
    stopper.left = 0
    looked_at.clear()
    workspace.set_text(path, text[:at] + "    state.step = 1\n" + text[at:])
    assert [finding.code for finding in workspace.findings(path)].count("JAX401") == 1
    assert looked_at == [1]


BEGIN = """import jax
from flax import struct


@struct.dataclass
class State:
    step: int = struct.field(pytree_node=False, default=0)
    name: str = "x"


"""


#: Functions that tell others something, and an edit of what they tell.
ENTANGLED = (
    # what a call passes concerns the function that is called
    (
        "def helper(state):\n    state.step = 1\n\n\n"
        "def caller(state: State, other: object) -> None:\n    helper(other)\n",
        "helper(other)",
        "helper(state)",
    ),
    # the body of one function transforms another one
    (
        "def changed(state: State) -> None:\n    state.name = 1\n    state.replace(step=2)\n\n\n"
        "def caller(state: State) -> object:\n    f = changed\n    f(state)\n    return None\n",
        "f(state)",
        "jax.jit(f)(state)",
    ),
    # what goes into a transformed function counts for the class
    (
        "@jax.jit\ndef compiled(state) -> object:\n    return None\n\n\n"
        "def caller(state: State, other: object) -> None:\n    compiled(other)\n",
        "compiled(other)",
        "compiled(state)",
    ),
    # the body of a function tells what its callers get
    (
        "def made(state: State):\n    other = state\n    return other\n\n\n"
        "def caller(state: State) -> None:\n    made(state).step = 1\n",
        "other = state",
        "other = None",
    ),
    # the body of a constructor tells what instances are
    (
        "class Holder:\n    def __init__(self, state: State) -> None:\n        held = state\n"
        "        self.held = held\n\n\ndef caller(holder: Holder) -> None:\n    holder.held.step = 1\n",
        "held = state\n",
        "held = None\n",
    ),
    # a comment hides what comes in the same row
    (
        "def first(state: State) -> None:\n    pass\n\n\n"
        "def second(state: State) -> None:\n    state.step = 1  # noqa: JAX401\n",
        "    pass\n",
        "    pass\n    # a comment\n\n",
    ),
    # the body of a function is looked into where it is transformed
    (
        "def changed(numbers: list) -> object:\n    pass\n\n\n"
        "def caller(numbers: list) -> object:\n    return jax.jit(changed)(numbers)\n",
        "    pass\n",
        "    numbers.append(1)\n",
    ),
    (
        "def made(state: State) -> object:\n    other = state\n    return other\n\n\n"
        "def caller(state: State) -> None:\n    made(state).step = 1\n",
        "other = state",
        "other = None",
    ),
    # a function that does something makes others tell what they give it
    (
        "def helper(state) -> None:\n    pass\n\n\ndef caller(state: State) -> None:\n    helper(state)\n",
        "    pass\n",
        "    state.step = 1\n",
    ),
    (
        "def helper(state) -> None:\n    pass\n\n\n"
        "def caller(state: State) -> None:\n    state.replace(step=1)\n    helper(state)\n",
        "    pass\n",
        "    state.step = 1\n",
    ),
    # what one function calls tells how all of them are transformed
    (
        "import equinox as eqx\n\n\nclass Model(eqx.Module):\n    name: str\n\n\n"
        "@jax.jit\ndef run(model: Model) -> None:\n    pass\n\n\n"
        "def split(model: Model) -> object:\n    return None\n",
        "return None",
        "return eqx.partition(model, eqx.is_array)",
    ),
    # a script is read as a whole
    (
        "def first(state: State) -> None:\n    pass\n\n\nstate = State()\nstate.step = 1\n",
        "    pass\n",
        "    state.step = 2\n",
    ),
)


@pytest.mark.parametrize(("text", "old", "new"), ENTANGLED)
def test_what_one_unit_tells_others(tmp_path: Path, looked_at: list[int], text: str, old: str, new: str) -> None:
    editor = Editor(tmp_path)
    text = BEGIN + text
    for shown in (text, text + "# edited\n", text.replace(old, new), text, text.replace(old, new) + "\n\n"):
        editor.show(shown)
    assert text.count(old) == 1 and looked_at


#: Units of which others ask what they do, and an edit by which more or less is found elsewhere.
ASKED = (
    # whether a function reads what the host writes down
    (
        "@struct.dataclass\nclass Run:\n    log: list = struct.field(pytree_node=False)\n\n\n"
        "def note(run: Run) -> None:\n    run.log.append(1)\n\n\n"
        "@jax.jit\ndef unconcerned(other: object) -> object:\n    return other\n",
        "return other",
        "return other.log",
    ),
    # whether the module transforms any function
    (
        "@struct.dataclass\nclass Run:\n    log: list = struct.field(pytree_node=False)\n\n\n"
        "def note(run: Run) -> None:\n    run.log.append(1)\n\n\n"
        "@plain\ndef unconcerned(other: object) -> object:\n    return other\n",
        "@plain",
        "@jax.jit",
    ),
    # whom a constructor hands an instance that it makes, by way of another method or function
    (
        "import equinox as eqx\n\n\nclass Model(eqx.Module):\n    name: str\n\n"
        "    def __init__(self) -> None:\n        self.fill()\n\n    def fill(self) -> None:\n        begin(self)\n\n\n"
        "def begin(model: object) -> None:\n    print(model)\n\n\n"
        "def name(model: Model) -> None:\n    model.name = 'x'\n",
        "print(model)",
        "name(model)",
    ),
    (
        "import equinox as eqx\n\n\nclass Model(eqx.Module):\n    name: str\n\n"
        "    def __init__(self) -> None:\n        self.fill()\n\n    def fill(self) -> None:\n        print(self)\n\n\n"
        "def name(model: Model) -> None:\n    model.name = 'x'\n",
        "print(self)",
        "name(self)",
    ),
    # what a method does besides making a copy
    (
        "@struct.dataclass\nclass Wide(State):\n    def wider(self) -> 'Wide':\n        done = 1\n"
        "        return self.replace(step=1)\n\n\n"
        "def use(wide: Wide) -> None:\n    wide.wider()\n",
        "done = 1",
        "print()",
    ),
    # whether a module throws compiled programs away
    (
        "import functools\n\n\nclass Control:\n    def __init__(self) -> None:\n        self.gain = 1.0\n\n"
        "    @functools.partial(jax.jit, static_argnums=0)\n    def act(self, x: jax.Array) -> jax.Array:\n"
        "        return x * self.gain\n\n    def set_gain(self, gain: float) -> None:\n        self.gain = gain\n\n\n"
        "def forget() -> None:\n    pass\n",
        "    pass\n",
        "    jax.clear_caches()\n",
    ),
)


@pytest.mark.parametrize(("text", "old", "new"), ASKED)
def test_what_units_ask_of_others(tmp_path: Path, text: str, old: str, new: str) -> None:
    editor = Editor(tmp_path)
    text = BEGIN + text
    assert text.count(old) == 1
    edit = text.replace(old, new)
    shown = [editor.show(one) for one in (text, edit, text, edit + "# edited\n", text + "# edited\n")]
    assert [f.code for f in shown[0]] != [f.code for f in shown[1]] and shown[0] == shown[2] == shown[4]


#: Classes that others know in one way or another, an edit of what they know, and whether few units are read again.
KNOWN = (
    # by the name of a class that inherits from it
    (
        "@struct.dataclass\nclass Base:\n    count: int = 0\n\n\n"
        "@struct.dataclass\nclass Wide(Base):\n    other: int = 0\n\n\n"
        "def use(wide: Wide) -> object:\n    return wide.replace(count=1)\n",
        "    count: int",
        "    number: int",
        True,
    ),
    # by that of a base class
    (
        "@struct.dataclass\nclass Wide(State):\n    more: int = 0\n\n\n"
        "def use(state: State) -> object:\n    return state.replace(extra=1)\n",
        "    more: int",
        "    extra: int",
        True,
    ),
    # as a string, by an alias, and by what a function returns
    (
        "Other = State\n\n\ndef made() -> 'Other':\n    return State()\n\n\n"
        "def use() -> object:\n    state = made()\n    return state.replace(name=1)\n",
        '    name: str = "x"',
        '    names: str = "x"',
        True,
    ),
    # by what a field of another class holds
    (
        "@struct.dataclass\nclass Holder:\n    state: State\n\n\n"
        "def use(holder: Holder) -> object:\n    return holder.state.replace(name=1)\n",
        '    name: str = "x"',
        '    names: str = "x"',
        True,
    ),
    # by the name of a static field, wherever it is
    (
        "@struct.dataclass\nclass Holder:\n    table: dict\n\n\n"
        "def use(holder: 'Holder', other: object) -> None:\n    other.table['x'] = 1\n    holder.table['x'] = 1\n\n\n"
        "def read(holder: 'Holder') -> object:\n    return holder.table\n",
        "    table: dict",
        "    table: dict = struct.field(pytree_node=False)",
        True,
    ),
    # by what a method that is called with an instance does
    (
        "class Tool:\n    def work(self, state):\n        state.name = 1\n\n\n"
        "def use(state: State, tool: Tool) -> None:\n    tool.work(state)\n",
        "@struct.dataclass\nclass State",
        "class State",
        True,
    ),
    # by what is thrown away
    (
        "def use(state, other: object) -> None:\n    other.replace(name=2)\n",
        '    name: str = "x"',
        '    title: str = "x"',
        True,
    ),
    # by what code does to it
    (
        "class Plain:\n    x: int\n\n\njax.tree_util.register_static(State)\n",
        '    name: str = "x"',
        '    name: str = "x"\n    other: int = 0',
        False,
    ),
    # by a constructor that others count on
    (
        "@jax.tree_util.register_pytree_node_class\nclass Node:\n    def work(self) -> None:\n        pass\n\n\n"
        "class Plain:\n    state: State\n\n\ndef use(plain: Plain) -> None:\n    plain.state.step = 1\n",
        "    def work(self) -> None",
        "    def __init__(self) -> None",
        False,
    ),
    # by a name of the module that a method binds
    (
        "class Tool:\n    def work(self) -> None:\n        global made\n        made = None\n\n\n"
        "made: State\n\n\ndef use() -> None:\n    made.step = 1\n",
        "        made = None\n",
        "        made = 2\n",
        False,
    ),
)


@pytest.mark.parametrize(("text", "old", "new", "is_short"), KNOWN)
def test_what_others_know_of_a_class(
    tmp_path: Path, looked_at: list[int], text: str, old: str, new: str, is_short: bool
) -> None:
    editor = Editor(tmp_path)
    text = BEGIN + text + "\n\ndef unconcerned(x: jax.Array) -> None:\n    x[0] = 1\n    x.at[0].set(1)\n"
    assert text.count(old) == 1
    edit = text.replace(old, new)
    shown = [editor.show(one) for one in (text, edit, text, edit)]
    assert shown[0] == shown[2] and shown[1] == shown[3] and (not is_short or shown[0] != shown[1])
    again = looked_at[2::2]
    assert all(0 < count < looked_at[0] for count in again) if is_short else set(again) == {looked_at[0]}


def test_a_module_that_knows_itself_through_another(tmp_path: Path, looked_at: list[int]) -> None:
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
    assert again == [everything, everything, ["module", "user", "wide"], ["module", "user", "wide"]]


WIDE = "@struct.dataclass\nclass Wide(State):\n    more: int = 0\n"


def test_any_edits_of_classes(tmp_path: Path, looked_at: list[int], is_thorough: bool) -> None:
    """Ten edits of each of 25 texts; of 70 with `--thorough`."""
    number = 70 if is_thorough else 25
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
                units = len(ast.parse(text).body)
            except (SyntaxError, ValueError):
                text = before if choice.random() < 0.9 else text
                continue
            looked_at.clear()
            found = editor.show(text)
            seen["edits"] += 1
            seen["short"] += bool(looked_at) and 0 <= looked_at[0] < units
            seen["short and telling"] += bool(found and looked_at) and 0 <= looked_at[0] < units
    assert seen["edits"] > 4 * number and seen["short"] > 1.5 * number and seen["short and telling"] > 0.7 * number


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


def test_words_that_are_typed_anywhere(tmp_path: Path, looked_at: list[int]) -> None:
    choice = random.Random(7)
    editor = Editor(tmp_path)
    texts = [text for text, _, _ in ENTANGLED[:-1]]
    functions = "\n\n".join(re.sub(r"\b(caller|helper)\b", rf"\1_{n}", text) for n, text in enumerate(texts))
    words = ("state.step = 1", "state = state.replace(step=2)", "print(state.name)", "# noqa: JAX401", "other.step = 3")
    for begin in (HEADER + PART.format(i=0) + PART.format(i=1), BEGIN + functions):
        for _ in range(14):
            lines = begin.split("\n")
            at = choice.choice([number for number, row in enumerate(lines) if row.startswith("    ")])
            margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
            word = choice.choice(words)
            for end in sorted({0, 1, len(word) - 1, len(word), *choice.sample(range(len(word)), 6)}):
                editor.show("\n".join([*lines[:at], margin + word[:end], *lines[at:]]))
            if choice.random() < 0.3:
                begin = edited(begin, choice)
    assert sum(0 <= count <= 2 for count in looked_at) > 40
