"""After an edit inside of a function, what was found in other units is kept, and is what a fresh check finds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.editor import HEADER, PART, program
from jaxlint.finding import Finding
from jaxlint.rechecking import Rechecks
from jaxlint.workspace import Workspace
from tests.lsp.edits import edited

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
        assert not self.workspace.take_errors()
        return found


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


def test_a_check_that_was_stopped_takes_nothing_away(tmp_path: Path, looked_at: list[int]) -> None:
    class Stop(BaseException):
        pass

    left = 0

    def step() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Stop

    text = program(200)
    at = text.index("    history = []", len(text) // 2)
    path = str(tmp_path / "module.py")
    workspace = Workspace([str(tmp_path)], step=step)
    for shown in (text, text[:at] + "\n" + text[at:]):
        workspace.set_text(path, shown)
        workspace.findings(path)
    for end in range(5, 14):
        workspace.set_text(path, text[:at] + "    statestep"[:end] + "\n" + text[at:])
        left = 6
        with pytest.raises(Stop):
            workspace.findings(path)
    left = 0
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
    # what a call passes is told to the function that is called
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


def test_words_that_are_typed_anywhere(tmp_path: Path, looked_at: list[int]) -> None:
    choice = random.Random(5)
    editor = Editor(tmp_path)
    functions = "\n\n".join(text for text, _, _ in ENTANGLED[:-1])
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
