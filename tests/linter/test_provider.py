"""`PytreeProvider` in what others run: a rule of Fixit, and a codemod of libcst."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from libcst.metadata import FullRepoManager

from jaxlint import PytreeProvider
from tests.patience import PATIENCE

STATE = '''\
"""States."""

import copy

import jax
from flax import struct


@struct.dataclass
class Inner:
    x: jax.Array


@struct.dataclass
class State:
    inner: Inner
    step: int = struct.field(pytree_node=False, default=0)
'''
USE = """\
import copy

from state import State


def advance(state: State, other: list):
    inner, é = copy.deepcopy(state.inner), copy.deepcopy(other)  # why
    return state.replace(inner=inner, step=copy.deepcopy(state).step + 1), é
"""
FIXED = USE.replace("copy.deepcopy(state.inner)", "state.inner").replace("copy.deepcopy(state)", "state")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "libcst.md"
RULE = PAGE.read_text().split('```python title="needless.py"\n')[1].split("```")[0]
CODEMOD = '''\
"""A codemod."""

import libcst as cst
from libcst.codemod import VisitorBasedCodemodCommand

from jaxlint import PytreeProvider


class RenameStep(VisitorBasedCodemodCommand):
    """Reads of the static field `step` become reads of `count`."""

    METADATA_DEPENDENCIES = (PytreeProvider,)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        known = self.get_metadata(PytreeProvider, original_node, None)
        if known is None or known.field is None or (known.owner.name, known.field.name) != ("State", "step"):
            return updated_node
        return updated_node.with_changes(attr=cst.Name("count"))
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "state.py").write_text(STATE)
    (tmp_path / "use.py").write_text(USE)
    return tmp_path


def run(project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", *command)
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=PATIENCE)


def described(project: Path, path: str) -> set[tuple[str, str | None, str | None]]:
    manager = FullRepoManager(str(project), [path], {PytreeProvider})
    wrapper = manager.get_metadata_wrapper_for_path(path)
    return {
        (
            wrapper.module.code_for_node(node).split("\n")[0],
            known.cls.name if known.cls is not None else None,
            f"{known.owner.name}.{known.field.name} {known.field.role.name}" if known.owner and known.field else None,
        )
        for node, known in wrapper.resolve(PytreeProvider).items()
    }


def test_what_is_known(project: Path) -> None:
    assert described(project, "use.py") == {
        ("state", "State", None),
        ("state.inner", "Inner", "State.inner LEAF"),
        ("inner", "Inner", None),
        ("copy.deepcopy(state.inner)", "Inner", None),
        ("copy.deepcopy(state)", "State", None),
        ("copy.deepcopy(state).step", None, "State.step STATIC"),
        ("state.replace(inner=inner, step=copy.deepcopy(state).step + 1)", "State", None),
    }


@pytest.mark.comparisons
def test_a_rule_of_fixit(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        '[tool.fixit]\nroot = true\nenable = [".needless"]\ndisable = ["fixit.rules"]\n'
    )
    (project / "needless.py").write_text(RULE)
    found = run(project, "fixit", "lint", "use.py")
    assert found.returncode == 1
    assert found.stdout.count("is frozen: it needs no copy") == 2, found.stdout + found.stderr
    fixed = run(project, "fixit", "fix", "--automatic", "use.py")
    assert (project / "use.py").read_text() == FIXED, fixed.stdout + fixed.stderr
    assert run(project, "fixit", "lint", "use.py").returncode == 0


def test_a_codemod(project: Path) -> None:
    (project / "mods").mkdir()
    (project / "mods" / "__init__.py").write_text("")
    (project / "mods" / "rename.py").write_text(CODEMOD)
    (project / ".libcst.codemod.yaml").write_text('modules: ["mods"]\nrepo_root: "."\n')
    done = run(project, "libcst.tool", "codemod", "--no-format", "rename.RenameStep", "use.py")
    assert (project / "use.py").read_text() == USE.replace(").step", ").count"), done.stdout + done.stderr
