"""A rule that asks something new about other modules: what depends on what is right with no word about it elsewhere."""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from jaxlint import check_paths
from jaxlint.cache.store import Cache
from jaxlint.config.settings import Settings
from jaxlint.editor.workspace import Workspace
from jaxlint.finding import Confidence, Finding
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules import plugins
from jaxlint.rules.base import BodyRule, ClassRule, Problem
from tests.editor.edits import edited, edited_class
from tests.editor.projects import FILES, write

pytestmark = pytest.mark.comparisons

SETTINGS = Settings(select=("ALL",), preview=True, min_confidence=Confidence.LOW, plugins=("trial",))
MODULES = [name for name in FILES if name.endswith(".py")]


class Callees(BodyRule):
    """
    ## What it does

    Finds calls, and says where what they call stands and how the module begins in which it does.
    """

    code = "TRY101"
    name = "trial-callees"
    group = "trial"
    since = "0"
    api = 1

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """All code that calls something."""
        return bool(candidate.unit.calls)

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at all calls."""
        for call in code.calls:
            symbol = evaluator.model.resolver.resolve(call.func, code.place.module, code.scope)
            if isinstance(symbol, (FunctionSymbol, ClassSymbol)) and symbol.module is not code.place.module:
                at = symbol.declaration.at
                yield said(call.at, f"{symbol.declaration.name} {at.row}-{at.end_row} of {what_it_is(symbol.module)}")


class Relatives(ClassRule):
    """
    ## What it does

    Finds classes, and says which modules import theirs and where their subclasses stand.
    """

    code = "TRY102"
    name = "trial-relatives"
    group = "trial"
    since = "0"
    api = 1

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at each pytree class."""
        importers = [what_it_is(module) for module in evaluator.model.importers(cls.module)]
        below = [(one.name, one.symbol.declaration.at.row) for one in evaluator.model.subclasses(cls)]
        bases = [(base.name, what_it_is(base.module)) for base in cls.mro[1:]]
        yield said(cls.symbol.declaration.at, f"{sorted(importers)} {sorted(below)} {bases}")


def what_it_is(module: Module) -> str:
    """Of a module what no rule asks: its length, one of its rows, how many functions it has, and what it imports."""
    lines = module.source.lines
    return f"{module.name}: {len(lines)} {lines[:1]} {len(module.outline.functions)} {sorted(module.imports)}"


def said(at: object, text: str) -> Problem:
    return Problem(at=at, message=text, reason="it is tried", help="nothing")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(plugins._loaded, "trial", (Callees, Relatives))
    monkeypatch.setattr(plugins, "plugin_versions", list)
    folder = tmp_path / "project"
    write(folder)
    text = 'select = ["ALL"]\npreview = true\nmin-confidence = "low"\nplugins = ["trial"]\n'
    (folder / "jaxlint.toml").write_text(text)
    return folder


def edits(folder: Path, number: int) -> Iterator[tuple[str, str]]:
    """A file of the project and its text after one edit, one after the other; sometimes it begins anew."""
    choice = random.Random(number)
    texts = {name: FILES[name] for name in MODULES}
    for _ in range(number):
        name = choice.choice(MODULES)
        text = FILES[name] if choice.random() < 0.2 else choice.choice((edited, edited_class))(texts[name], choice)
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        texts[name] = text
        yield str(folder / name), text


def reported(findings: Sequence[Finding], seen: Counter[str]) -> list[Finding]:
    seen.update(f.code for f in findings if f.code.startswith("TRY"))
    return sorted(findings, key=lambda f: f.sort_key)


def test_in_an_editor(project: Path, is_thorough: bool) -> None:
    """90 edits, all files asked after each; 2,000 with `--thorough`."""
    workspace, seen = Workspace([str(project)]), Counter[str]()
    paths = [str(project / name) for name in MODULES]
    before: dict[str, list[Finding]] = {path: workspace.findings(path) for path in paths}
    texts: dict[str, str] = {}
    for path, text in edits(project, 2000 if is_thorough else 90):
        workspace.set_text(path, text)
        texts[path] = text
        fresh = Workspace([str(project)])
        for one, its in texts.items():
            fresh.set_text(one, its)
        for one in paths:
            found = workspace.findings(one)
            assert reported(found, seen) == reported(fresh.findings(one), Counter()), (path, one, texts)
            seen["changed elsewhere"] += one != path and found != before[one]
            before[one] = found
        assert not workspace.take_errors()
        seen["edits"] += 1
    print(dict(seen))
    assert min(seen["changed elsewhere"], seen["TRY101"], seen["TRY102"]) > 30


def test_between_runs(project: Path, tmp_path: Path, is_thorough: bool) -> None:
    """60 edits, each with a run; 2,000 with `--thorough`."""
    seen, cache = Counter[str](), Cache(str(tmp_path / "cache"))
    for path, text in edits(project, 2000 if is_thorough else 60):
        Path(path).write_text(text, encoding="utf-8")
        warm = check_paths([str(project)], SETTINGS, cache=cache)
        cold = check_paths([str(project)], SETTINGS)
        assert not cold.errors and not warm.errors
        assert reported([*warm.findings, *warm.suppressed], seen) == reported(
            [*cold.findings, *cold.suppressed], Counter()
        )
        seen["edits"] += 1
    print(dict(seen))
    assert min(seen["TRY101"], seen["TRY102"]) > 30
