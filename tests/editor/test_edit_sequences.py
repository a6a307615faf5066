"""Whatever is edited, a workspace finds what a fresh check of the saved files finds."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from jaxlint import check_paths
from jaxlint.config.configuration import Configuration
from jaxlint.editor.workspace import Workspace
from jaxlint.finding import Finding
from jaxlint.symbols.edited_outline import EditedOutline
from tests.editor.projects import FILES, LINES, write

pytestmark = pytest.mark.comparisons

MODULES = [name for name in FILES if name.endswith(".py")]
NEW = "app/new.py"
#: More of what makes units begin, end, or stand elsewhere.
ROWS = (
    *LINES,
    '"""two\nrows"""',
    "\f# a page",
    "\tstate.step = 4",
    "from __future__ import annotations",
    "    return state  # and so on",
)
WORDS = ("    state.step = 10", "    state.weight", "    step: int = 10", "    # a comment", "\tstate.step")


def shown(findings: list[Finding]) -> list[tuple[object, ...]]:
    return [(f.path, f.row, f.column, f.end_row, f.end_column, f.code, f.message, f.severity) for f in findings]


class Edits(RuleBasedStateMachine):
    """Random edits of open buffers, saves, closes and changes on disk."""

    folder: Path
    seen: Counter[str]
    at_start: set[tuple[str, str, str]]

    def __init__(self) -> None:
        super().__init__()
        shutil.rmtree(self.folder, ignore_errors=True)
        write(self.folder)
        self.texts: dict[str, str] = {}
        self.workspace = Workspace([str(self.folder)])
        self.answers: dict[str, list[tuple[object, ...]]] = {}
        #: What was answered of the last text of a file that can be parsed: that is what is told at once after an edit.
        self.answered: dict[str, list[tuple[object, ...]]] = {}

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def text(self, name: str) -> str:
        file = self.folder / name
        return self.texts.get(name, file.read_text() if file.exists() else "")

    def edit(self, name: str, text: str) -> None:
        self.texts[name] = text
        self.workspace.set_text(self.path(name), text)
        self.seen["edits"] += 1

    @rule(name=st.sampled_from([*MODULES, NEW]), at=st.integers(0, 20), line=st.sampled_from(ROWS))
    def insert(self, name: str, at: int, line: str) -> None:
        lines = self.text(name).splitlines(keepends=True)
        self.edit(name, "".join([*lines[:at], line + "\n", *lines[at:]]))

    @rule(name=st.sampled_from(MODULES[1:]), at=st.integers(4, 14), word=st.sampled_from(WORDS))
    def type(self, name: str, at: int, word: str) -> None:
        lines = self.text(name).splitlines(keepends=True)
        for end in range(len(word) - 3, len(word) + 1):
            self.edit(name, "".join([*lines[:at], word[:end] + "\n", *lines[at:]]))
            self.ask(name)

    @rule(name=st.sampled_from(MODULES), at=st.integers(0, 20), count=st.integers(1, 3))
    def remove(self, name: str, at: int, count: int) -> None:
        lines = self.text(name).splitlines(keepends=True)
        self.edit(name, "".join([*lines[:at], *lines[at + count :]]))

    @rule(name=st.sampled_from(MODULES), old=st.sampled_from(["step", "weight", "State"]), key=st.sampled_from("xq_"))
    def rename(self, name: str, old: str, key: str) -> None:
        self.edit(name, self.text(name).replace(old, old + key, 1))

    @rule(name=st.sampled_from(MODULES), end=st.sampled_from(["\n", "\r\n"]), mark=st.sampled_from(["", "\ufeff"]))
    def encode(self, name: str, end: str, mark: str) -> None:
        lines = self.text(name).removeprefix("\ufeff").replace("\r\n", "\n")
        self.edit(name, mark + lines.replace("\n", end))

    @rule(name=st.sampled_from(MODULES))
    def restore(self, name: str) -> None:
        self.edit(name, FILES[name])

    @rule(name=st.sampled_from([*MODULES, NEW]))
    def save(self, name: str) -> None:
        if name in self.texts:
            (self.folder / name).write_text(self.texts[name], newline="")
            self.workspace.refresh()
            self.seen["saves"] += 1

    @rule(name=st.sampled_from([*MODULES, NEW]))
    def close(self, name: str) -> None:
        if self.texts.pop(name, None) is not None:
            self.workspace.drop_text(self.path(name))

    @rule(name=st.sampled_from([*MODULES, NEW]), line=st.sampled_from(LINES))
    def change_on_disk(self, name: str, line: str) -> None:
        file = self.folder / name
        file.write_text((file.read_text() if file.exists() else "") + line + "\n")
        self.workspace.refresh()

    @rule(name=st.sampled_from(MODULES))
    def ask(self, name: str) -> None:
        path = self.path(name)
        at_once = self.workspace.glance(path)
        before = self.answered.get(path, [])
        now = self.answers[path] = shown(self.workspace.findings(path))
        if at_once is not None:
            reported = {answer[5:7] for answer in (*before, *now)}
            assert all((f.code, f.message) in reported for f in at_once)
            self.seen["said at once"] += len(at_once)
        if all(answer[5] != "JAX001" for answer in now):
            self.answered[path] = now

    @rule(codes=st.sampled_from(['extend-select = ["JAX109"]', 'ignore = ["JAX401"]', "preview = true"]))
    def configure(self, codes: str) -> None:
        (self.folder / "pyproject.toml").write_text(f"[tool.jaxlint]\n{codes}\n")
        self.workspace.reload()

    def teardown(self) -> None:
        """At the end, what the workspace says of every file is what the command says of the saved tree."""
        dependents = self.workspace.dependents(self.path(NEW))
        found = [f for path in self.workspace.files() for f in self.workspace.findings(path)]
        assert not self.workspace.take_errors()
        for name, text in self.texts.items():
            (self.folder / name).write_text(text, newline="")
        expected = check_paths([str(self.folder)], Configuration()).findings
        assert shown(found) == shown(expected)
        for name in set(self.texts) - {NEW}:
            path = self.path(name)
            if path in self.answers and path not in dependents:
                assert self.answers[path] == shown(self.workspace.findings(path))
                self.seen["stored answers"] += 1
        self.seen["dependents"] += len(dependents)
        self.seen["sequences"] += 1
        now = {(f.path, f.code, f.message) for f in found}
        first = type(self).at_start
        self.seen["appeared"] += len(now - first)
        self.seen["vanished"] += len(first - now)


def test_sequences_of_edits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_thorough: bool) -> None:
    """80 sequences of 12 steps that are always the same; 1,000 others each time with `--thorough`."""
    number = 1000 if is_thorough else 80
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "project"
    write(folder)

    class Machine(Edits):
        pass

    Machine.folder = folder
    seen: Counter[str] = Counter()
    Machine.seen = seen
    after_edit = EditedOutline.after_edit

    def counted_edit(self: EditedOutline, text: str) -> EditedOutline:
        made = after_edit(self, text)
        seen["parsed in part"] += made.parsed < len(made.outline.units)
        return made

    monkeypatch.setattr(EditedOutline, "after_edit", counted_edit)
    Machine.at_start = {(f.path, f.code, f.message) for f in check_paths([str(folder)], Configuration()).findings}
    assert len(Machine.at_start) >= 6
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=number,
            derandomize=not is_thorough,
            database=None,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    print(dict(seen))
    assert seen["sequences"] >= number
    counts = ("edits", "appeared", "vanished", "stored answers", "dependents", "parsed in part", "said at once")
    assert all(seen[what] >= number / 10 for what in counts)
