"""What each declared fact shows in an environment: a small program for each, in `fixtures/facts/`.

The function `show` of a program does what its fact is about. It gives True or False, or raises what the fact says
is raised while it holds, or otherwise.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jaxlint.pytrees.frameworks import FACTS
from jaxlint.pytrees.versions import Fact, dotted
from tests.oracle import environments
from tests.oracle.cases import FIXTURES, Raised
from tests.oracle.versions import Versions

PROGRAMS = FIXTURES / "facts"
#: What a program shows.
SHOWN = "show()"


def outcomes(python: str) -> dict[str, Any]:
    """What the program of each fact does in the environment of `python`, by the name of the fact."""
    with tempfile.TemporaryDirectory() as root:
        jobs = "".join(json.dumps(job) + "\n" for job in _jobs(Path(root)))
        environment = dict(os.environ, JAX_PLATFORMS="cpu")
        command = [python, str(environments.RUNNER)]
        done = subprocess.run(command, input=jobs, capture_output=True, text=True, env=environment, cwd=root)
    shown = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    found = {one["id"]: one for one in shown}
    return {name: found.get(name, {"error": done.stderr[-2000:], "calls": []}) for name in FACTS}


def _jobs(root: Path) -> Iterator[dict[str, Any]]:
    """The programs of all facts, written below `root`, for the runner of an environment (see `run.py`)."""
    for name in FACTS:
        folder = root / name
        folder.mkdir()
        (folder / "main.py").write_text((PROGRAMS / f"{name}.py").read_text())
        yield {"id": name, "folder": str(folder), "calls": [SHOWN]}


def holds(fact: Fact, outcome: dict[str, Any]) -> bool | str:
    """Whether a fact holds where its program showed `outcome`; a text, if that is neither of what it says."""
    error, shown = outcome["error"], outcome["calls"][0] if outcome["calls"] else None
    if error or shown is None:
        return f"the program itself raised {error}"
    if shown["value"] in ("True", "False"):
        return bool(shown["value"] == "True")
    if fact.now and is_raised(fact.now, shown):
        return True
    if any(is_raised(text, shown) for text in fact.otherwise):
        return False
    return f"{SHOWN} shows {shown}"


def is_declared(fact: Fact, known: Versions) -> bool:
    """Whether a fact is said to hold for what an environment has; for what it does not have, it does not."""
    return fact.of in known and fact.holds_in(known[fact.of])


def is_raised(said: str, shown: dict[str, Any]) -> bool:
    """Whether a call has raised what a fact says; "nothing" stands for no exception."""
    return says(pattern(said), shown["error"])


def says(expected: Raised, error: dict[str, Any] | None) -> bool:
    """Whether an exception is the one that is expected, or of a type derived from it."""
    if error is None:
        return expected.type == "nothing"
    return expected.type in error["types"] and bool(re.search(expected.text, error["text"]))


def pattern(said: str) -> Raised:
    """What a fact says of an exception: "…" stands for anything in its text."""
    name, _, text = said.partition(": ")
    return Raised(name, "(?s:.*)".join(re.escape(part.strip()) for part in text.split("…")))


def unlike(fact: Fact, known: Versions, outcome: dict[str, Any]) -> str:
    """What a fact shows with these versions that is not declared; nothing if it shows what is declared."""
    shown = holds(fact, outcome)
    if shown == is_declared(fact, known):
        return ""
    has = f"{fact.of} {dotted(known[fact.of])}" if fact.of in known else f"no {fact.of}"
    return f"{fact.name}: {fact.says} ({fact.when}); with {has}: {shown}"
