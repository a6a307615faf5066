"""The door from module to module: whatever the check of a file reads, something in the file led there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import pytest

from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence
from jaxlint.linter.checker import Checker
from jaxlint.linter.engine import make_project
from jaxlint.project.modules import Module
from jaxlint.project.reached import Reached
from jaxlint.pytrees.stubs import is_stub
from tests.linter.test_order import variants

SETTINGS = Settings(select=("ALL",), preview=True, min_confidence=Confidence.LOW)


def test_dependents() -> None:
    reached = Reached({"a": ["b"], "b": ["c"]})
    reached.note("d", "b")
    reached.note("c", "c")
    assert reached.dependents(["c"]) == {"a", "b", "c", "d"}
    assert reached.dependents(["a", "x"]) == {"a", "x"}
    assert Reached(reached.without({"b"})).dependents(["c"]) == {"c"}


@contextmanager
def reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The paths of the modules of whose content anything is asked meanwhile, but for our own descriptions."""
    read: set[str] = set()
    with monkeypatch.context() as patch:
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
    pending = [path]
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
