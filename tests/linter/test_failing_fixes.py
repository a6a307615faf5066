"""A fix, or an advice, that fails takes no finding with it: what was found is reported without, and it is said once."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import pytest
from flake8.api.legacy import get_style_guide

from jaxlint import __version__, check_paths, rules
from jaxlint.cli.main import main
from jaxlint.config.settings import Settings
from jaxlint.cst import failing
from jaxlint.editor.workspace import Workspace
from jaxlint.finding import Confidence, Finding
from jaxlint.rules.base import Problem
from jaxlint.rules.frozen_assignment import FrozenAssignment
from tests.oracle import cases
from tests.oracle.versions import here, target_versions

#: What the functions are compiled to that `failing` has put around others.
_AROUND = failing.advising(str).__code__
PROGRAM = """from flax import struct

@struct.dataclass
class State:
    x: int

def step(s: State) -> State:
    s.x = 1
    s.x = 2
    return s
"""


def fail(*args: object, **keywords: object) -> object:
    raise ZeroDivisionError("on\npurpose")


def spared_functions() -> Iterator[FunctionType]:
    """All functions of the rules without which a finding can do."""
    names = [one.name for one in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}.")]
    modules = [importlib.import_module(name) for name in names]
    owners = [*modules, *(one for m in modules for one in vars(m).values() if isinstance(one, type))]
    found = {id(one): one for owner in owners for one in vars(owner).values() if isinstance(one, FunctionType)}
    yield from (one for one in found.values() if one.__code__ is _AROUND)


def test_whatever_makes_a_fix_is_spared() -> None:
    """So says the annotation of what it returns."""
    bare = []
    for file in Path(rules.__file__).parent.rglob("*.py"):
        for function in ast.walk(ast.parse(file.read_text())):
            if isinstance(function, ast.FunctionDef) and function.returns is not None:
                if ast.unparse(function.returns) in ("Proposal", "Proposal | None"):
                    if "proposing" not in map(ast.unparse, function.decorator_list):
                        bare.append(f"{file.name}: {function.name}")
    assert bare == []


def test_no_finding_goes_with_its_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one program of each rule."""
    for program in {one.rule: one for one in cases.programs() if one.is_bad and one.is_well_formed}.values():
        program.write(tmp_path)
    settings = Settings(
        select=("ALL",), fixable=("ALL",), min_confidence=Confidence.LOW, target_versions=target_versions(here())
    )
    before = check_paths([str(tmp_path)], settings)
    assert before.errors == [] and len({one.code for one in before.findings if one.fix is not None}) > 50
    for function in spared_functions():
        (make,) = [cell for cell in function.__closure__ or () if isinstance(cell.cell_contents, FunctionType)]
        monkeypatch.setattr(make, "cell_contents", fail)
    after = check_paths([str(tmp_path)], settings)
    assert list(map(_what, after.findings)) == list(map(_what, before.findings))
    assert len(after.errors) > 40
    for line in after.errors:
        assert ": the fix of JAX" in line
        assert line.endswith(f" failed in jaxlint {__version__}: ZeroDivisionError: on purpose")


def _what(finding: Finding) -> tuple[str, int, int, str]:
    return finding.path, finding.row, finding.column, finding.code


@pytest.fixture(
    params=["jaxlint.rules.analyses.fixes.rebinding.UpdateField", "jaxlint.rules.frozen_assignment.update_text"]
)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A project with two findings, of which the fix fails, or what is said of it."""
    monkeypatch.setattr(request.param, fail)
    (tmp_path / "setup.cfg").touch()
    (tmp_path / "a.py").write_text(PROGRAM)
    return tmp_path


def test_command(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--no-cache", "--output-format", "json", str(project)]) == 2
    out, err = capsys.readouterr()
    assert [(one["code"], one["location"]["row"]) for one in json.loads(out)] == [("JAX401", 8), ("JAX401", 9)]
    (line,) = err.splitlines()
    assert line.startswith("jaxlint: internal error: ")
    assert f"a.py: the fix of JAX401 failed in jaxlint {__version__}: ZeroDivisionError: on purpose" in line


def test_the_rule_that_finds_nothing_after_all_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(self: FrozenAssignment, event: object, evaluator: object) -> Iterator[Problem]:
        failing.advising(fail)()  # type: ignore[arg-type]
        return iter(())

    monkeypatch.setattr(FrozenAssignment, "check_event", check)
    (tmp_path / "a.py").write_text(PROGRAM.replace("    return s", "    s.replace(x=3)\n    return s"))
    result = check_paths([str(tmp_path)], Settings(select=("JAX4",)))
    assert [one.code for one in result.findings] == ["JAX403"]
    assert result.errors and all("the fix of JAX401 failed" in line for line in result.errors)


def test_editor(project: Path) -> None:
    workspace = Workspace()
    workspace.set_folders([str(project)])
    path = str(project / "a.py")
    for text in (PROGRAM, f"{PROGRAM}\n", f"{PROGRAM}\n\n"):
        workspace.set_text(path, text)
        assert [(one.code, one.row) for one in workspace.findings(path)] == [("JAX401", 8), ("JAX401", 9)]
    (line,) = set(workspace.take_errors())
    assert "the fix of JAX401 failed" in line


def test_flake8(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(project)
    report = get_style_guide(select=["JAX"]).check_files(["a.py"])
    assert report.total_errors == 2
    assert "the fix of JAX401 failed" in capsys.readouterr().err
