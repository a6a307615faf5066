"""The door from module to module: whatever the check of a file reads, something in the file led there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import cast

import pytest

import jaxlint
from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence
from jaxlint.linter.checker import Checker
from jaxlint.linter.engine import make_project
from jaxlint.project.modules import Module, Project
from jaxlint.project.reached import ANSWERS, Answering, Noted, Reached, Stored
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.stubs import is_stub
from jaxlint.syntax.source import Source
from tests.linter.test_order import variants

SETTINGS = Settings(select=("ALL",), preview=True, min_confidence=Confidence.LOW)


def test_dependents() -> None:
    reached = Reached(Noted({"a": {"b"}, "b": {"c"}}))
    reached.note("d", "b")
    reached.note("c", "c")
    assert reached.dependents(["c"]) == {"a", "b", "c", "d"}
    assert reached.dependents(["a", "x"]) == {"a", "x"}
    reached.note_for_findings("e", {"b", "e"})
    reached.note("f", "e")
    assert reached.dependents(["c"]) == {"a", "b", "c", "d", "e"}  # who reaches `e` has nothing to do with its findings


def module(text: str, path: str = "/p/other.py") -> Module:
    """A module of a text."""
    return Project().add_source(Source.from_text(path, text))


def test_only_rules_look_for_importers() -> None:
    """Who imports a module is reached for findings alone: what the inference keeps must not rest on it."""
    package = Path(jaxlint.__file__).parent
    asking = [path.relative_to(package).parts[0] for path in package.rglob("*.py") if ".importers(" in path.read_text()]
    assert set(asking) == {"editor", "fixes", "rules"}


def test_an_answer_that_stays_the_same_changes_nothing() -> None:
    """What one was asked counts only while it answers something else; what it was read for counts always."""
    reached = Reached()
    before = module("from m import f\n\nx = f(1)\n")
    assert reached.ask("mentions", "f", [before], "m") == {before.path: "ci"}
    assert reached.ask("mentions", "g", [before], "m") == {}
    reached.note("user", "m")
    reached.note_for_findings("user", ["other"])
    stored = Stored.of(reached.noted)
    assert Stored.of(stored.noted()) == stored

    def dirty(text: str) -> set[str]:
        reached = Reached(stored.noted())
        found = reached.change({before.path: module(text)})
        assert reached.change({before.path: module(text)}) == {before.path}  # it is known by now
        return found

    assert dirty("from m import f\n\n\ndef other():\n    return f(2)\n") == {before.path}
    assert dirty("from m import f\n") == dirty("from m import f, g\n\nf(1)\n") == {before.path, "m", "user"}
    reached.note("m", before.path)
    assert reached.change({before.path: before}) == {before.path, "m", "user"}


def test_all_questions_are_answered_by_the_text_alone() -> None:
    one = module("from m import *\nimport flax.nnx\n\n\nclass A:\n    def f(self): ...\n\n\nregister(A)\n")
    asked = {"mentions": "register", "hands on": "", "has method": "A.f", "gives": "A register", "calls": ""}
    asked |= {"imports": "optax flax.nn", "has attribute": "A.f", "leads": "flax"}
    assert {question: ANSWERS[question](one, word) for question, word in asked.items()} == {
        "mentions": "c",
        "hands on": "*",
        "has method": "m",
        "gives": "g",
        "calls": "c",
        "imports": "i",
        "has attribute": "a",
        "leads": "0 flax ",
    }
    assert asked.keys() == ANSWERS.keys()
    assert not any(ANSWERS[question](module("x = 1\n"), word) for question, word in asked.items())


def test_what_is_kept_for_others_leads_where_it_led() -> None:
    """Importers are looked at for the findings of who asks, also where it was found out for another one."""
    project = Project()
    one, two, user = (module("import one\n", f"/p/{name}.py") for name in ("one", "two", "user"))
    for known in (one, two, user):
        project.add_source(known.source)
    model = PytreeModel(project)
    model.project_index.imports.importers = {one.path: [user.path]}
    for asking in (one, two):
        model.checked = asking
        assert model.once("outer", lambda: model.once("inner", lambda: model.importers(one)))[0].path == user.path
    assert project.reached.noted.for_findings == {one.path: {user.path}, two.path: {user.path}}
    assert not project.reached.by
    model.checked = None
    model.importers(one)
    assert project.reached.by == {one.path: {user.path}}


@contextmanager
def reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The paths of the modules that are read meanwhile, but for our own descriptions, and for what they are asked."""
    read: set[str] = set()
    with monkeypatch.context() as patch:
        for question, answer in ANSWERS.items():

            def answered(module: Answering, word: str, answer: Callable[[Answering, str], str] = answer) -> str:
                before = set(read)
                found = answer(module, word)
                read.intersection_update(before)
                return found

            patch.setitem(cast("dict[str, object]", ANSWERS), question, answered)
        for name in ("outline", "source", "imports"):
            original = vars(Module)[name]  # of a property, or of one that is stored

            def noted(module: Module, original: property | cached_property[object] = original) -> object:
                if not is_stub(module):
                    read.add(module.path)
                return original.__get__(module, Module)

            patch.setattr(Module, name, property(noted))
        yield read


def leads_to(reached: Reached, path: str) -> set[str]:
    """The module and all that it leads to."""
    found: set[str] = set()
    pending = [path, *reached.noted.for_findings.get(path, ())]
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += reached.by.get(path, ())
    return found


@pytest.mark.comparisons
def test_nothing_is_read_that_nothing_led_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_thorough: bool
) -> None:
    """Each file by itself, with nothing built before, and in one run with all others."""
    seen: Counter[str] = Counter()
    for number, variant in enumerate(variants(is_thorough)):
        folder = tmp_path / str(number)
        for name, text in variant.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        paths = sorted(str(path) for path in folder.rglob("*.py"))
        project = make_project(paths, SETTINGS)
        together = Checker(project, SETTINGS)
        together.build_index([project.add_file(path) for path in paths])
        for path in paths:
            together.check(project.add_file(path))
        rules = [*together.class_rules, *together.event_rules, *together.body_rules]
        assert not any(map(vars, rules))  # what one keeps for other modules, it asks `PytreeModel.once`
        for path in paths:
            alone = Checker(make_project(paths, SETTINGS), SETTINGS)
            alone.adopt(together.project_index)
            with reading(monkeypatch) as read:
                alone.check(alone.project.add_file(path))
            for reached in (alone.project.reached, project.reached):
                assert read <= leads_to(reached, path), (path, read - leads_to(reached, path), variant)
            seen["read from elsewhere"] += len(read - {path})
            seen["not read"] += len(set(paths) - read)
    print(dict(seen))
    assert min(seen.values()) > 100
