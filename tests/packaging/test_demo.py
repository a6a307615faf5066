"""The demo of the README: each of its bugs shows alone, and repaired the package is clean."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import jaxlint
from tests.oracle import cases, environments
from tests.oracle.cases import FIXTURES
from tests.oracle.environments import Runners
from tests.oracle.frameworks import MAIN

DEMO = FIXTURES / "demo"


@dataclass(frozen=True)
class Bug:
    """One bug: its line, the line as it should be, and what the program shows with this bug alone."""

    code: str
    path: str
    bad: str
    good: str
    raises: str = ""
    prints: str = ""


BUGS = (
    Bug(
        "JAX201",
        "agent/policy.py",
        "mean: jax.Array = eqx.field(static=True)",
        "mean: jax.Array",
        raises="ValueError: .*equality of metadata fields",
    ),
    Bug(
        "JAX401",
        "agent/policy.py",
        "self.temperature *= factor\n        return self\n",
        "return eqx.tree_at(lambda policy: policy.temperature, self, self.temperature * factor)\n",
        raises="FrozenInstanceError: cannot assign to field 'temperature'",
    ),
    Bug(
        "JAX301",
        "agent/state.py",
        "best: jax.Array = jnp.full((), jnp.inf)",
        "best: jax.Array = struct.field(default_factory=lambda: jnp.full((), jnp.inf))",
        raises="ValueError: mutable default <class 'jaxlib.*ArrayImpl'> for field best is not allowed",
    ),
    Bug(
        "JAX202",
        "agent/state.py",
        "epoch: int = struct.field(pytree_node=False, default=0)",
        "epoch: int = 0",
        prints=r"^compiled [56] times$",
    ),
    Bug(
        "JAX401",
        "agent/step.py",
        "    state.metrics.loss = loss\n",
        "",
        raises="FrozenInstanceError: cannot assign to field 'loss'",
    ),
    Bug(
        "JAX402",
        "agent/step.py",
        "state.replace(metric=",
        "state.replace(metrics=",
        raises=r"TypeError: TrainState\.__init__\(\) got an unexpected keyword argument 'metric'",
    ),
)

MARK = re.compile(r" *# (expect|maybe): JAX\d+(?=\n|$)")


def sources() -> dict[str, str]:
    """The modules of the demo, without their marks."""
    return {
        str(path.relative_to(DEMO)): MARK.sub("", path.read_text(encoding="utf-8"))
        for path in sorted(DEMO.rglob("*.py"))
    }


def write(root: Path, left: Bug | None) -> Path:
    """The demo with every bug repaired but `left`."""
    files = sources()
    for bug in BUGS:
        assert files[bug.path].count(bug.bad) == 1, bug
        if bug is not left:
            files[bug.path] = files[bug.path].replace(bug.bad, bug.good)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def outcomes(runners: Runners, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """What the repaired demo does, and the demo with each of its bugs alone."""
    if isinstance(reason := environments.look_up(MAIN), environments.Unavailable):
        pytest.skip(str(reason))
    jobs = []
    for number, bug in enumerate((None, *BUGS)):
        folder = write(tmp_path_factory.mktemp("demo"), bug)
        jobs.append({"id": str(number), "folder": str(folder), "calls": []})
    return runners.run(MAIN, jobs)


def test_repaired_demo_runs_clean(outcomes: dict[str, dict[str, object]]) -> None:
    outcome = outcomes["0"]
    assert outcome["error"] is None, outcome
    # the step number starts as a Python int, so the second step compiles once more; the third does not
    assert re.search(r"^compiled [12] times$", str(outcome["output"]), re.MULTILINE), outcome
    assert "loss True step 5" in str(outcome["output"]), outcome


@pytest.mark.parametrize("number", range(1, len(BUGS) + 1))
def test_each_bug_shows_alone(number: int, outcomes: dict[str, dict[str, object]]) -> None:
    bug, outcome = BUGS[number - 1], outcomes[str(number)]
    error = outcome["error"]
    if bug.raises:
        assert isinstance(error, dict), (bug, outcome)
        assert any(re.match(bug.raises, f"{name}: {error['text']}") for name in error["types"]), (bug, outcome)
    else:
        assert error is None, (bug, outcome)
        assert re.search(bug.prints, str(outcome["output"]), re.MULTILINE), (bug, outcome)


def test_demo_is_reported_as_marked() -> None:
    """Each marked line, and nothing else."""
    marks = [
        mark
        for path in sorted(DEMO.rglob("*.py"))
        for mark in cases.marks(str(path), path.read_text(encoding="utf-8"), "")
    ]
    found = {(f.path, f.row, f.code) for f in jaxlint.check_paths([str(DEMO)]).findings}
    assert cases.differences(marks, found) == []
    assert sorted(code for _, _, code in found) == sorted(bug.code for bug in BUGS)


def test_repaired_demo_lints_clean(tmp_path: Path) -> None:
    assert list(jaxlint.check_paths([str(write(tmp_path, None))]).findings) == []
