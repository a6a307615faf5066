"""What the plugin keeps in mypy's cache: a module that is as it was is not parsed again for another one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from mypy import api

from jaxlint.project.modules import Module
from jaxlint.symbols.outline import Outline
from tests.mypy.run import SMALL_CONFIG

pytestmark = pytest.mark.comparisons

STATES = """
import jax
from flax import struct

@struct.dataclass
class State:
    x: jax.Array
    n: int = 0
"""
USE = """
from states import State

def f(s: State) -> State:
    s.n = 1
    return s.replace(m=1)
"""


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that jaxlint parses."""
    found: list[str] = []
    parse = Module._parsed

    def noted(module: Module) -> Outline:
        found.append(os.path.basename(module.path))
        return parse(module)

    monkeypatch.setattr(Module, "_parsed", noted)
    return found


def run(folder: Path, text: str, *options: str) -> list[str]:
    """What mypy says of the project with that text for what uses the class."""
    (folder / "mypy.ini").write_text(SMALL_CONFIG)
    (folder / "states.py").write_text(STATES)
    (folder / "use.py").write_text(text)
    output, errors, _ = api.run(["states.py", "use.py", *options])
    assert errors == ""
    return output.splitlines()[:-1]


def test_what_is_as_it_was_is_not_parsed(tmp_path: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = run(tmp_path, USE)
    assert [line.split(": ")[0] for line in said] == ["use.py:5", "use.py:6"]
    assert sorted(parsed) == ["states.py", "use.py"]
    parsed.clear()
    assert run(tmp_path, USE + "# edited\n") == said
    assert parsed == ["use.py"]
    parsed.clear()
    assert run(tmp_path, USE) == said
    assert parsed == []  # as it was in the first run


def test_nothing_is_kept_where_mypy_keeps_nothing(
    tmp_path: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(run(tmp_path, USE, f"--cache-dir={os.devnull}")) == 2
    assert sorted(parsed) == ["states.py", "use.py"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mypy.ini", "states.py", "use.py"]
