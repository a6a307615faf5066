"""A project that is edited at random: every way to check it finds what a fresh run in one process finds."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jaxlint.cache.store import Cache
from jaxlint.finding import Finding
from jaxlint.linter import parallel, storage
from jaxlint.linter.engine import check_paths
from jaxlint.linter.mapping import write_facts
from jaxlint.linter.shards import Shard
from jaxlint.project.files import discover
from jaxlint.symbols import facts
from tests.small_project import MADE, STATE, STEP, USED, write_project

pytestmark = [pytest.mark.comparisons, pytest.mark.usefixtures("small_heap")]

#: What was done, to be sure that something was.
COUNTS: Counter[str] = Counter()

FIELDS = ["x: jax.Array", "q: jax.Array", "x: jax.Array\n    q: int = 0", "x: jax.Array = 1"]
BODIES = ["return state", "return state.replace(x=1)", "return state.replace(q=1)", "state.x = 1\n    return state"]
MAKERS = ["return State(x=1)", "return 3", "made = State(x=1)\n    return made"]
IGNORED = "  # noqa: JAX402"
#: The texts that each module may have.
TEXTS = {
    "state.py": [STATE.replace("x: jax.Array", fields) for fields in FIELDS]
    + ["from base import State\n", "from base import *\n", "State = int\n"],
    "base.py": [STATE, STATE.replace("x:", "z:"), STATE.replace("@struct", "@other"), "from state import State\n"],
    "step.py": [STEP.format(field="x").replace("state = state.replace(x=1)\n    return state", body) for body in BODIES]
    + [STEP.format(field="y"), STEP.format(field="y").replace("=1)", "=1)" + IGNORED), "def (\n"],
    "made.py": [MADE.replace("return State(x=1)", maker) for maker in MAKERS],
    "used.py": [USED, "from made import *\nfrom made import make\n\nm = make()\nm.q = 1\n", "x = 1" + IGNORED + "\n"],
    "sub/child.py": [
        "from flax import struct\nimport state\n\n\n@struct.dataclass\nclass Child(state.State):\n    w: int = 0\n",
        "from state import State\n\n\nclass Child(State):\n    w: list = []\n",
        "from state import State\n\n\nclass Child(State):\n    def f(self):\n        self.x = 1\n",
    ],
    "sub/grand.py": [
        "from sub.child import Child\n\n\ndef f(c: Child):\n    c.w = 1\n    return c.replace(nothing=1)\n"
    ],
    "sub/__init__.py": ["", "from .child import Child\n"],
}
NOTES = ["", "# note\n", "\n", "y = 1\n"]

edit = st.sampled_from(sorted(TEXTS)).flatmap(
    lambda name: st.tuples(
        st.just(name), st.one_of(st.none(), st.sampled_from(TEXTS[name])), st.sampled_from(NOTES), st.booleans()
    )
)
#: All kinds of edits: every module is changed or added, and half of them are removed.
ALL_KINDS = [
    [(name, TEXTS[name][0], "# note\n", False) for name in ("state.py", "step.py", "made.py")],
    [(name, TEXTS[name][0], "# note\n", True) for name in ("used.py", "base.py", "sub/child.py")],
    [(name, TEXTS[name][0], "", False) for name in ("sub/grand.py", "sub/__init__.py")],
    [(name, None, "", False) for name in ("base.py", "made.py", "sub/__init__.py", "state.py")],
]


def apply(project: Path, name: str, text: str | None, note: str, is_touched: bool) -> None:
    """Write a module anew, or remove it."""
    path = project / name
    if text is None:
        COUNTS["removed"] += path.exists()
        path.unlink(missing_ok=True)
        return
    before = path.read_text() if path.exists() else None
    COUNTS["added" if before is None else "same" if before == note + text else "changed"] += 1
    path.parent.mkdir(exist_ok=True)
    path.write_text(note + text)
    if is_touched:  # the time says nothing
        os.utime(path, (1_000_000_000, 1_000_000_000))


def check(project: Path, **options: object) -> list[Finding]:
    result = check_paths([str(project)], **options)  # type: ignore[arg-type]
    assert not result.errors
    return [*result.findings, *result.suppressed]


@contextmanager
def started_by(method: str) -> Iterator[None]:
    with patch.object(parallel, "start_method", lambda: method), patch.object(parallel, "PAYS_FROM", {method: 0}):
        yield


def warm(project: Path) -> list[Finding]:
    return check(project, cache=Cache(str(project.parent / "warm")))


def forked(project: Path) -> list[Finding]:
    with started_by("fork"):
        return check(project, jobs=2)


def forked_warm(project: Path) -> list[Finding]:
    with started_by("fork"):
        return check(project, jobs=3, cache=Cache(str(project.parent / "forked")))


def spawned(project: Path) -> list[Finding]:
    with started_by("spawn"):
        return check(project, jobs=2)


def sharded(project: Path) -> list[Finding]:
    parts = [check(project, shard=Shard(number, 3)) for number in (1, 2, 3)]
    COUNTS["parts with findings"] += sum(bool(part) for part in parts)
    return [finding for part in parts for finding in part]


def sharded_warm(project: Path) -> list[Finding]:
    cache = Cache(str(project.parent / "sharded"))
    return [f for number in (1, 2) for f in check(project, shard=Shard(number, 2), cache=cache)]


def with_facts(project: Path) -> list[Finding]:
    """With facts from before the last edit, if there are any, and facts of half of the files."""
    old, half = (str(project.parent / name) for name in ("old.facts", "half.facts"))
    files = discover([str(project)])
    write_facts(files[::2], half)
    found = check(project, facts=[half, *([old] if os.path.exists(old) else [])])
    write_facts(files, old)
    return found


def in_little_memory(project: Path) -> list[Finding]:
    """As in a large project: outlines are let go of all the time."""
    with patch.object(facts, "_OUTLINES_IN_MEMORY", 1_500), patch.object(storage, "_ALL_IN_MEMORY", -1):
        return check(project)


def in_little_memory_warm(project: Path) -> list[Finding]:
    with patch.object(facts, "_OUTLINES_IN_MEMORY", 1_500), patch.object(storage, "_ALL_IN_MEMORY", -1):
        return check(project, cache=Cache(str(project.parent / "little")))


MODES: list[Callable[[Path], list[Finding]]] = [
    warm,
    forked,
    forked_warm,
    sharded,
    sharded_warm,
    with_facts,
    in_little_memory,
    in_little_memory_warm,
]


def compare(project: Path, modes: list[Callable[[Path], list[Finding]]]) -> None:
    cold = sorted(check(project), key=lambda f: f.sort_key)
    COUNTS["findings"] += len(cold)
    COUNTS.update(finding.code for finding in cold)
    for mode in modes:
        assert sorted(mode(project), key=lambda f: f.sort_key) == cold, mode.__name__
        COUNTS[mode.__name__] += 1


def test_every_mode_finds_the_same(tmp_path_factory: pytest.TempPathFactory) -> None:
    @given(st.lists(st.lists(edit, min_size=1, max_size=3), min_size=1, max_size=4))
    @example(ALL_KINDS)
    @settings(max_examples=14, deadline=None)
    def edited(rounds: list[list[tuple[str, str | None, str, bool]]]) -> None:
        project = write_project(tmp_path_factory.mktemp("edited") / "project")
        compare(project, MODES)
        for edits in rounds:
            for one in edits:
                apply(project, *one)
            if list(project.rglob("*.py")):
                compare(project, MODES)
                COUNTS["rounds"] += 1
        if COUNTS["rounds"] // 10 > COUNTS["spawned"]:  # a process that is spawned takes long
            compare(project, [spawned])

    edited()
    print(dict(COUNTS))
    # whatever hypothesis chose, there were changes of all kinds, and findings
    assert COUNTS["rounds"] >= 15
    assert min(COUNTS[name] for name in ("added", "changed", "removed")) >= 4
    assert all(COUNTS[mode.__name__] >= 20 for mode in MODES)
    assert COUNTS["spawned"] >= 1
    assert COUNTS["findings"] >= 25
    assert len([name for name in COUNTS if name.startswith("JAX")]) >= 2
    assert COUNTS["parts with findings"] >= 20
