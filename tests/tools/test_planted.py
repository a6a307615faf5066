"""The tool that plants bugs in real code: what it changes, and what counts as found."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tools.ecosystem.__main__ import main
from tools.ecosystem.planted import KINDS, Planted, plant, with_bugs

STATES = """
import jax
from flax import struct

@struct.dataclass
class State:
    x: jax.Array
    n: int

def moved(state: State, i) -> State:
    x = state.x
    x = x.at[i].set(
        1.0  # here
    )
    state = state.replace(n=state.n + 1)
    state = state.replace(x=x, n=2)
    return state

def unknown(state, text):
    text = text.replace("a", "b")
    state = state.replace(n=1)
    return state, text

class Tree:
    def tree_flatten(self):
        return (self.a, self.b, self.c), None
"""
#: Of each kind: the functions in which it is planted, and the first of the lines that come of it.
CHANGED = {
    "discarded": (["moved", "unknown"], "    state.replace(n=state.n + 1)"),
    "discarded-at": (["moved"], "    x.at[i].set("),
    "assigned": (["moved", "unknown"], "    state.n = (state.n + 1)"),
    "item": (["moved"], "    x[i] = (1.0)"),
    "misspelt": (["moved", "unknown"], "    state = state.replace(n_x=state.n + 1)"),
    "exchanged": (["Tree.tree_flatten"], "        return (self.b, self.a, self.c), None"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_bugs_are_planted_once_in_a_function(kind: str) -> None:
    text, functions = with_bugs(STATES, kind)
    compile(text, "states.py", "exec")
    new = [line for line in text.splitlines() if line not in STATES.splitlines()]
    assert (functions, new[0]) == CHANGED[kind]
    assert with_bugs(STATES, kind, ["elsewhere"]) == (STATES, [])


def test_what_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "wild" / "one"
    folder.mkdir(parents=True)
    (folder / "states.py").write_text(STATES)
    done = CliRunner().invoke(main, ["plant", str(folder.parent), "--kind", "misspelt", "--missed"])
    assert done.output.splitlines() == ["misspelt one states.py::unknown", "misspelt: 1 of 2 found (50%)"]
    assert (folder / "states.py").read_text() == STATES


def test_what_had_a_finding_before_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "states.py").write_text(STATES.replace("state.replace(x=x, n=2)", "state.replace(y=x, n=2)"))
    assert plant([sys.executable, "-m", "jaxlint"], tmp_path, "misspelt", 5) == [Planted("states.py::unknown", False)]
