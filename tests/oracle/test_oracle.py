"""The oracle itself: it refuses malformed fixtures, expands what it should, and sees what programs do not show."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import tests.rules.test_fixtures_run as runs
from tests.oracle import cases, environments, frameworks
from tests.oracle.cases import FixtureError, Program
from tests.oracle.environments import Runners
from tests.oracle.frameworks import FRAMEWORKS, MAIN

CLASS = """
import jax
from anyframework import field, pytree, replace, static


@pytree
class A:
    x: jax.Array
    n: int = static()  # expect: JAX202
    m: int = static(default=1)
    y: float = field(default=2.0)


@pytree
class B(A):
    z: float = 1.0


def f(a: A) -> A:
    return replace(replace(a, x=1), n=a.n + 1)
"""


needs_main = pytest.mark.skipif(sys.version_info < (3, 11), reason="the fixtures are run on Python 3.11 and later")


def program(text: str, framework: str = "flax-dataclass") -> Program:
    """The program of `text` for one framework."""
    return next(p for p in programs_of(text) if p.framework == framework)


def programs_of(text: str) -> list[Program]:
    """The programs of `text`, all looked at."""
    found = list(cases.expand_case(cases.Case("rule", "case", {"main.py": text})))
    for one in found:
        one.check()
    return found


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        ("# clean", "needs one `# frameworks:` header"),
        ("# frameworks: flax", "unknown framework or group 'flax'"),
        ("# frameworks: chex - chex\n# clean", "selects no framework"),
        ("# frameworks: chex equinox\n# clean", "an ordinary program holds for one framework"),
        ("# frameworks: chex", "a good program is `# clean`"),
        ("# frameworks: chex\n# clean\n# raises: ValueError: x", "a good program is `# clean`"),
        ("# frameworks: chex\n# clean\nx = 1  # expect: JAX201", "a bad program needs its consequence"),
        ("# frameworks: chex\nx = 1  # expect: JAX201", "a bad program needs its consequence"),
        ("# frameworks: chex\n# raises: ValueError\nx = 1  # expect: JAX201", "expected `Type: regex`"),
        ("# frameworks: chex\n# clean\nx = 1  # expect: JX201", "not a well-formed expectation"),
        ("# frameworks: chex\n# clean\nx = 1  # expect: JAX201 because", "not a well-formed expectation"),
        ("# frameworks: chex\n# calling f()\nx = 1  # expect: JAX201", "expected `calling expression"),
        ("# frameworks: chex\n# raises: A: x\n# raises: B: x\nx = 1  # expect: JAX201", "two exceptions"),
        ("# frameworks: chex\n# clean\nfrom anyframework import pytrees", "anyframework has no pytrees"),
        ("# frameworks: chex\n# clean" + CLASS, "chex has no static fields"),
        (
            "# frameworks: namedtuple\n# clean\n" + CLASS.replace("static()", "1").replace("static(", "field("),
            "cannot inherit",
        ),
    ],
)
def test_malformed_fixtures_are_refused(header: str, complaint: str) -> None:
    with pytest.raises((FixtureError, ValueError), match=complaint):
        programs_of(header + "\n")


@pytest.mark.parametrize(
    ("framework", "lines"),
    [
        (
            "flax-dataclass",
            [
                "from flax import struct",
                "@struct.dataclass",
                "class A:",
                "    x: jax.Array",
                "    n: int = struct.field(pytree_node=False)  # expect: JAX202",
                "    m: int = struct.field(pytree_node=False, default=1)",
                "    y: float = struct.field(default=2.0)",
                "class B(A):",
                "    z: float = 1.0",
                "    return a.replace(x=1).replace(n=a.n + 1)",
            ],
        ),
        (
            "register-dataclass-fields",
            [
                "@partial(jax.tree_util.register_dataclass,"
                ' data_fields=["x", "y"], meta_fields=["n", "m"])  # maybe: JAX202',
                '@partial(jax.tree_util.register_dataclass, data_fields=["x", "y", "z"], meta_fields=["n", "m"])',
                "    n: int  # expect: JAX202",
                "    m: int = 1",
                "    return dataclasses.replace(dataclasses.replace(a, x=1), n=a.n + 1)",
            ],
        ),
        (
            "jax-dataclasses",
            [
                "    n: jdc.Static[int]  # expect: JAX202",
                "    m: jdc.Static[int] = 1",
                "    y: float = jdc.field(default=2.0)",
            ],
        ),
        ("equinox", ["class A(eqx.Module):", "class B(A):", "    n: int = eqx.field(static=True)  # expect: JAX202"]),
        ("mjx", ["class A(PyTreeNode):", "    n: int  # expect: JAX202", "    m: int = 1"]),
        ("nnx", ["    x: jax.Array = nnx.data()", "    z: float = nnx.data(default=1.0)"]),
        ("penzai", ["@pz.pytree_dataclass(has_implicitly_inherited_fields=True)", "class A(pz.Struct):"]),
        ("simple-pytree-mutable", ["class A(Pytree, mutable=True):", "class B(A, mutable=True):"]),
    ],
)
def test_spelling(framework: str, lines: list[str]) -> None:
    text = program("# frameworks: static\n# prints: x\n" + CLASS, framework).files["main.py"]
    assert [line for line in lines if line not in text.splitlines()] == []
    assert "anyframework" not in text and "@pytree\n" not in text


def test_train_state_is_created() -> None:
    header = "# frameworks: train-state\n# clean\nfrom anyframework import pytree\n\n\n"
    text = header + "@pytree\nclass A:\n    x: int\n\n\nA(x=A(x=1))\n"
    expanded = program(text, "train-state").files["main.py"]
    assert expanded.count('A.create(apply_fn=None, params={"w": 1.0}, tx=OPTIMIZER, x=') == 2
    assert expanded.index("OPTIMIZER = optax.sgd(0.1)") < expanded.index("class A(TrainState):")


def test_marks_with_filters() -> None:
    line = "x = 1  # expect[frozen - equinox]: JAX401, JAX402|JAX306  # maybe[equinox]: JAX201"
    assert [mark.codes for mark in cases.marks("main.py", line, "flax-node")] == [{"JAX401"}, {"JAX402", "JAX306"}]
    assert [mark.kind for mark in cases.marks("main.py", line, "equinox")] == ["maybe"]
    assert list(cases.marks("main.py", line, "chex")) == []


def test_headers_with_filters() -> None:
    """The narrowest filter counts, whatever the order."""
    text = "# raises: A: x\n# raises[jax-dataclasses]: C: x\n# raises[frozen]: B: x\n# raises[penzai]: nothing\nx = 1\n"
    found = cases.headers(text, "main.py")
    raises = {
        f: cases.consequence(found, f, "main.py").raises for f in ("chex", "equinox", "jax-dataclasses", "penzai")
    }
    assert {f: r and r.type for f, r in raises.items()} == {
        "chex": "A",
        "equinox": "B",
        "jax-dataclasses": "C",
        "penzai": None,
    }


@pytest.mark.parametrize("line", ["# recompiles: 2", "# print: 1", "# raise[chex]: A: x"])
def test_a_header_that_there_is_not_is_an_error(line: str) -> None:
    with pytest.raises(cases.FixtureError, match=r"main.py:2: no header is called so"):
        cases.headers(f"# frameworks: chex\n{line}\nx = 1\n", "main.py")


def test_select() -> None:
    assert frameworks.select("chex, equinox") == {"chex", "equinox"}
    assert frameworks.select("mutable - nnx - treex chex-frozen") == frameworks.select("mutable chex-frozen") - {
        "nnx",
        "treex",
    }
    assert frameworks.select("frozen") | frameworks.select("mutable") == set(FRAMEWORKS)


NOT_SHOWN = {
    "raises": "# frameworks: chex\n# raises: ValueError: one\nraise ValueError('two')  # expect: JAX201\n",
    "type": "# frameworks: chex\n# raises: ValueError: one\nraise TypeError('one')  # expect: JAX201\n",
    "ends": "# frameworks: chex\n# raises: ValueError: one\nx = 1  # expect: JAX201\n",
    "prints": "# frameworks: chex\n# prints: ^two$\nprint('one')  # expect: JAX201\n",
    "warns": "# frameworks: chex\n# warns: UserWarning: two\nx = 1  # expect: JAX201\n",
    "calling": "# frameworks: chex\n# calling 1 / 1 raises ZeroDivisionError: .\nx = 1  # expect: JAX201\n",
    "gives": "# frameworks: chex\n# calling x gives ^2$\nx = 1  # expect: JAX201\n",
    "clean": "# frameworks: chex\n# clean\nraise ValueError\n",
    "exit": "# frameworks: chex\n# clean\nraise SystemExit(1)\n",
}
SHOWN = {
    "raises": NOT_SHOWN["raises"].replace("two", "one"),
    "derived": "# frameworks: chex\n# raises: LookupError: one\nraise KeyError('one')  # expect: JAX201\n",
    "prints": NOT_SHOWN["prints"].replace("two", "one"),
    "calling": NOT_SHOWN["calling"].replace("1 / 1", "x / 0"),
    "gives": NOT_SHOWN["gives"].replace("2", "1"),
}


@needs_main
def test_consequences_have_teeth(runners: Runners, tmp_path: Path) -> None:
    """A program that does not show what it states fails; one that does passes."""
    chosen = {
        f"{kind}-{name}": program(text, "chex")
        for kind, group in (("not", NOT_SHOWN), ("yes", SHOWN))
        for name, text in group.items()
    }
    jobs = [
        {"id": name, "folder": str(p.write(tmp_path / name)), "calls": [c.expression for c in p.consequence.calls]}
        for name, p in chosen.items()
    ]
    outcomes = runners.run(MAIN, jobs)
    shown = {name: not list(runs.unlike(p, outcomes[name])) for name, p in chosen.items()}
    assert shown == {name: name.startswith("yes") for name in chosen}


def jobs_of(texts: dict[str, str], root: Path) -> list[dict[str, Any]]:
    """One job for each text."""
    jobs = []
    for name, text in texts.items():
        (root / name).mkdir()
        (root / name / "main.py").write_text(text)
        jobs.append({"id": name, "folder": str(root / name), "calls": []})
    return jobs


@needs_main
def test_a_program_that_ends_the_runner_fails_alone(runners: Runners, tmp_path: Path) -> None:
    texts = {"before": "print(1)", "ends": "import os\n\nos._exit(3)", "after": "print(2)"}
    outcomes = runners.run(MAIN, jobs_of(texts, tmp_path))
    assert {name: outcome["output"] for name, outcome in outcomes.items()} == {
        "before": "1\n",
        "ends": "",
        "after": "2\n",
    }
    assert outcomes["ends"]["error"]["types"] == ["Ended"] and "exit 3" in outcomes["ends"]["error"]["text"]


@needs_main
def test_a_program_that_does_not_end_fails_alone(
    runners: Runners, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "PATIENCE", 3)
    outcomes = runners.run(MAIN, jobs_of({"sleeps": "import time\n\ntime.sleep(10**6)\n"}, tmp_path))
    assert "nothing was done in 3 seconds" in outcomes["sleeps"]["error"]["text"]


@needs_main
def test_one_cause_is_not_tried_again_and_again(
    runners: Runners, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "MOST_ENDED", 0)
    texts = {"ends": "import os\n\nos._exit(3)", "after": "print(2)"}
    with pytest.raises(environments.Broken, match=r"the runner ended at ends; at last: exit 3"):
        runners.run(MAIN, jobs_of(texts, tmp_path))


@needs_main
def test_a_runner_that_does_not_start_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "RUNNER", tmp_path / "gone.py")
    runners = Runners(tmp_path)
    with pytest.raises(environments.Broken, match=r"does not start: exit 2\n.*can't open file"):
        runners.run(MAIN, [{"id": "program", "folder": str(tmp_path), "calls": []}])


@needs_main
def test_programs_do_not_see_each_other(runners: Runners, tmp_path: Path) -> None:
    """Two programs with modules of the same name, in one process."""
    jobs = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "state.py").write_text(f"NAME = {name!r}\n")
        (folder / "main.py").write_text("import state\n\nprint(__name__, state.NAME)\n")
        jobs.append({"id": name, "folder": str(folder), "calls": ["state.NAME"]})
    outcomes = runners.run(MAIN, jobs)
    assert {name: outcome["output"] for name, outcome in outcomes.items()} == {
        "first": "__main__ first\n",
        "second": "__main__ second\n",
    }


@needs_main
def test_programs_do_not_call_what_others_have_called(runners: Runners, tmp_path: Path) -> None:
    """An operator that has been called before says something else of an array that was donated."""
    lines = [
        "import jax",
        "import jax.numpy as jnp",
        "print(jnp.ones(3) * 2)",
        "state = jnp.ones(3)",
        "jax.jit(lambda state: state + 1, donate_argnums=0)(state)",
    ]
    jobs: list[dict[str, Any]] = []
    for name, first in (("called", 2), ("not_called", 3), ("called_again", 2)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "main.py").write_text("\n".join([*lines[:2], *lines[first:], "state * 2"]))
        jobs.append({"id": name, "folder": str(folder), "calls": []})
    outcomes = runners.run(MAIN, jobs)
    assert [outcomes[job["id"]]["error"]["types"][0] for job in jobs] == ["ValueError", "RuntimeError", "ValueError"]


def test_a_python_that_does_not_run_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pyenv shim of a version that is not chosen exists and fails."""
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert list(environments.candidates("3.99")) == [str(shim)]
    assert environments.find_python("3.99") is None
