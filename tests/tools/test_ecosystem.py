"""The tool that holds findings on real code against the ledger."""

import re
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from tools.ecosystem.__main__ import main
from tools.ecosystem.ledger import LEDGER, Found, Judgement, Place, precision, read_ledger, share
from tools.ecosystem.sources import load, pinned, save

README = Path(__file__).parents[2] / "README.md"

STATE = """
from flax import struct

@struct.dataclass
class State:
    x: int

def step(state: State) -> State:
    state.x = 1
    return state.replace(y=2)
"""


@pytest.fixture
def wild(tmp_path: Path) -> Path:
    """A folder of two sources, of which one has bugs."""
    for name, text in (("good", "x = 1\n"), ("bad", STATE)):
        (tmp_path / "wild" / name).mkdir(parents=True)
        (tmp_path / "wild" / name / "state.py").write_text(text)
    return tmp_path / "wild"


def test_what_is_run_is_found(wild: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["run", str(wild), str(tmp_path / "out")])
    assert (done.exit_code, done.output) == (0, "2 findings\n")
    places = [one.place for one in load(tmp_path / "out")]
    assert places == [Place("bad", "state.py", 9, "JAX401"), Place("bad", "state.py", 10, "JAX402")]


def test_a_failure_is_said(wild: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["run", str(wild), str(tmp_path / "out"), "--select", "JAX999"])
    assert done.exit_code == 1
    assert "FAILED bad: exit 2: " in done.output and "unknown rule" in done.output


def test_what_came_and_went(tmp_path: Path) -> None:
    one = Found(Place("a", "m.py", 1, "JAX401"), "high", "first")
    two = Found(Place("a", "m.py", 2, "JAX401"), "medium", "second")
    save([one], tmp_path / "before")
    save([two], tmp_path / "after")
    done = CliRunner().invoke(main, ["diff", str(tmp_path / "before"), str(tmp_path / "after")])
    assert done.output.splitlines() == [
        "- UNJUDGED a m.py:1 JAX401 [high] first",
        "+ UNJUDGED a m.py:2 JAX401 [medium] second",
        "+1 JAX401 medium",
        "-1 JAX401 high",
    ]


def test_judging() -> None:
    places = [Place("a", "m.py", row, "JAX401") for row in range(4)]
    ledger = {places[0]: "TRUE", places[1]: "FALSE", places[2]: "TRUE", places[3]: "MISS"}
    found = [Found(places[n], "high", "") for n in (0, 1, 3)]
    judgement = Judgement(found, ledger)
    assert judgement.tally("confidence") == {"high": Counter(TRUE=2, FALSE=1)}
    assert judgement.lost == [places[2]]
    assert not judgement.holds
    assert Judgement([found[0]], {places[0]: "TRUE"}).holds
    assert precision(Counter(TRUE=3, FALSE=1, DEBATABLE=9)) == 0.75
    assert share(Counter(TRUE=3, FALSE=1, DEBATABLE=8, UNJUDGED=5)) == 0.25


def test_the_ledger_can_be_read() -> None:
    rows = [line.split("\t") for line in LEDGER.read_text(encoding="utf-8").splitlines()]
    assert len(read_ledger()) == len(rows) > 500, "a place is judged twice"
    assert {row[4] for row in rows} <= {"TRUE", "FALSE", "DEBATABLE", "MISS"}
    assert len(pinned()) > 200


def test_what_the_readme_says_is_counted() -> None:
    done = CliRunner().invoke(main, ["batches", "--last", "8"])
    high, medium = (re.findall(r"\d+", row.partition(": ")[2]) for row in done.output.splitlines())
    said = re.search(
        r"(\d+) of (\d+) \*high\* .*? (\d+) of (\d+) \*medium\* .*?; (\d+) more", README.read_text("utf-8")
    )
    assert said is not None
    true, false, debatable = (int(number) for number in high[:3])
    also_true, also_false, also_debatable = (int(number) for number in medium[:3])
    counted = [true, true + false, also_true, also_true + also_false, debatable + also_debatable]
    assert [int(number) for number in said.groups()] == counted
