"""The outline that is made after an edit equals one that is made afresh."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from jaxlint.editor.workspace import Workspace
from jaxlint.symbols.collected import parse_tree
from jaxlint.symbols.edited_outline import BrokenEdit, EditedOutline
from jaxlint.symbols.outline import Outline
from jaxlint.symbols.outliner import build_outline
from jaxlint.symbols.parsing import parse
from jaxlint.syntax.source import Source, Unreadable
from tests.editor.edits import edited
from tests.editor.projects import FILES

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("*/*.py"))
_BROKEN = (SyntaxError, ValueError, RecursionError)


def fresh(text: str) -> Outline:
    return build_outline(parse_tree(text), text)


def same(made: Outline, expected: Outline) -> bool:
    """Whether two outlines are equal, the order of what they hold included."""

    def order(outline: Outline) -> list[list[str]]:
        found = [list(outline.scopes), list(outline.classes), list(outline.functions)]
        found += [list(scope.bindings) for scope in outline.scopes.values()]
        return found + [list(cls.methods) for cls in outline.classes.values()]

    return made == expected and order(made) == order(expected)


def tried(read: Callable[[str], EditedOutline], text: str) -> EditedOutline | None:
    try:
        return read(text)
    except _BROKEN:
        return None


def problem(known: EditedOutline | None, text: str) -> tuple[object, ...] | None:
    """What is wrong with a text, as it is said after an edit, or of the text alone."""
    read = None if known is None else lambda text: known.after_edit(text).outline
    try:
        found = parse(Source.from_text("/module.py", text), read)[1]
    except Unreadable:
        return None
    return None if found is None else (found.message, found.row, found.column)


def test_random_edits(is_thorough: bool) -> None:
    """24 edits of each of 50 fixtures; of 250 with `--thorough`."""
    number = 250 if is_thorough else 50
    choice = random.Random(3)
    seen: Counter[str] = Counter()
    for path in choice.sample(FIXTURES, min(len(FIXTURES), number)):
        text = path.read_text(encoding="utf-8")
        known = tried(EditedOutline.read, text)
        if known is None:
            continue
        assert same(known.outline, fresh(text))
        for _ in range(24):
            text = edited(text, choice)
            made = tried(known.after_edit, text)
            assert problem(known, text) == problem(None, text), text
            try:
                expected = fresh(text)
            except _BROKEN:
                assert made is None, text
                seen["broken"] += 1
                if choice.random() < 0.5:
                    text = path.read_text(encoding="utf-8")  # repaired
                continue
            assert made is not None and same(made.outline, expected), text
            seen["edits"] += 1
            seen["incremental"] += made.parsed < len(expected.units)
            known = made
    assert seen["edits"] > 8 * number and seen["broken"] > 2 * number
    assert seen["incremental"] > seen["edits"] * 0.7


TEXT = '''"""A module."""

from __future__ import annotations

import jax
import numpy as np
from flax import struct


@struct.dataclass
class State:
    step: int = 0

    @jax.jit
    def advance(self, by):
        """Over
        several rows."""
        return self.replace(step=self.step + by)


def first(x):
    x.append(1)
    return x


x = 1; y = 2


def second(state: State) -> State:
    state = first(state)
    return state
'''


@pytest.mark.parametrize(
    ("old", "new", "parsed"),
    [
        ("x.append(1)", "x.append(12)", 1),
        ("x.append(1)\n", "x.append(1)\n    x.clear()\n", 1),
        ("    x.append(1)\n", "", 1),
        ("    return x\n", "    return x\n    more = 1\n", 1),
        ("    return x\n\n", "    return x\n\n    more = 1\n", 1),
        ("def second", "def more():\n    pass\n\n\ndef second", 1),
        ("x = 1; y = 2", "x = 1\ny = 2", 2),
        ("x = 1; y = 2", "x = 1; y = 3", 1),
        ("x = 1; y = 2\n", "", 0),
        ("def second", "@jax.jit\ndef second", 1),
        ("    step: int = 0", "    step: int = 0\n    more: jax.Array = None", 1),
        ("several rows", "several\n\n# rows", 1),
        ("    x.append(1)\n    return x", "\tx.append(1)\n\treturn x", 1),
        ("def first", "\fdef first", 2),
        ("def first", "# a comment\ndef first", 0),
        ('"""A module."""', '"""Another module."""', 1),
        ("def second", "def third", 1),
        # all of it is read, because what is said of one unit may hold for others
        ("def first", "def second", None),
        ("import numpy as np", "import numpy as npp", None),
        ("import jax\n", "import jax\nfrom jax import jit as compiled\n", None),
        ("x = 1; y = 2", "__all__ = ['x']", None),
        # the piece means nothing by itself
        ("x = 1; y = 2", "if x:\n    pass\n\nelse:\n    pass", 1),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_edits_of_every_kind(old: str, new: str, parsed: int | None, end: str) -> None:
    assert TEXT.count(old) == 1
    before, after = (text.replace("\n", end) for text in (TEXT, TEXT.replace(old, new)))
    made = EditedOutline.read(before).after_edit(after)
    assert same(made.outline, fresh(after))
    assert made.parsed == (len(made.outline.units) if parsed is None else parsed)
    back = made.after_edit(before)
    assert same(back.outline, fresh(before))


@pytest.mark.parametrize("broken", ["x = (", '"""', "else:", "    x = 1 +", "@jax.jit", "def f(:"])
def test_errors_and_their_repair(broken: str) -> None:
    known = EditedOutline.read(TEXT)
    with pytest.raises(BrokenEdit):
        known.after_edit(TEXT + broken)
    for text in (TEXT + broken, TEXT.replace("x = 1", broken), TEXT.replace("x = 1", broken).replace("\n", "\r\n")):
        assert problem(None, text) is not None and problem(known, text) == problem(None, text)
    repaired = TEXT.replace("x.append(1)", "x.pop()")
    made = known.after_edit(repaired)
    assert same(made.outline, fresh(repaired)) and made.parsed == 1


def test_a_statement_that_goes_on_in_the_next_row() -> None:
    before = "x = 1 \\\n\n\ny = 2\n"
    after = "x = 1 \\\n+ 2\n\ny = 2\n"
    made = EditedOutline.read(before).after_edit(after)
    assert same(made.outline, fresh(after)) and made.parsed == 2
    with pytest.raises(SyntaxError):
        EditedOutline.read("x = 1\n").after_edit("x = 1\ny = 2 \\\n")


def test_a_workspace_parses_what_an_edit_touches(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    after_edit = EditedOutline.after_edit

    def counted(self: EditedOutline, text: str) -> EditedOutline:
        made = after_edit(self, text)
        parsed.append(made.parsed)
        return made

    monkeypatch.setattr(EditedOutline, "after_edit", counted)
    workspace = Workspace([str(folder)])
    path, text = str(folder / "app/train.py"), FILES["app/train.py"]
    for number, shown in enumerate(
        [text, text + "#", text.replace("step = 1", "step = 2") + "#", "\ufeff" + text, text]
    ):
        workspace.set_text(path, shown)
        assert [f.code for f in workspace.findings(path)] == ["JAX401", "JAX403", "JAX402"], number
    assert parsed == [0, 1, 2, 0]
