"""What the programs on rule pages do: one fixture of each rule is run for every framework that is installed here.

    python -m tools.site.executed [RULE-NAME ...] [frameworks]

What they show is stored as `shown.json` beside the fixtures of each rule, so that the site is built without any of the
frameworks. Without a name, or for `frameworks`, what the table of frameworks says is measured, too, and stored in
`frameworks.json`; tjax and treex are measured in environments of their own, which are built below `.envs`.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from jaxlint.config.versions import normalised
from jaxlint.pytrees.versions import dotted
from tests.oracle import cases
from tests.oracle.cases import Program
from tests.oracle.frameworks import FRAMEWORKS, MAIN
from tools.site.measured import Measured, measured, probes
from tools.site.mending import Mending, mending

STORED = Path(__file__).with_name("frameworks.json")
SHOWN = "shown.json"
PACKAGES = (
    "chex",
    "equinox",
    "flax",
    "jax",
    "jax_dataclasses",
    "mujoco-mjx",
    "optax",
    "penzai",
    "simple-pytree",
    "tjax",
)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_TEMPORARY = re.compile(r"/tmp/[^ '\"]*/(?=main\.py)")
#: What mjx says when it is imported, here where it has no GPU.
_NOISE = re.compile(r"Failed to import (?:mujoco_)?warp: ")
_MOST_LINES = 6
_LONGEST = 400


class Shown(msgspec.Struct, frozen=True):
    """What the fixture `case` of a rule shows with some versions, by framework, in lines as Python prints them."""

    case: str
    versions: dict[str, str]
    frameworks: dict[str, str]
    #: What it shows where it is mended, of frameworks in which it can be.
    mended: dict[str, str] = {}


class Frameworks(msgspec.Struct, frozen=True):
    """What was measured of each framework, and with which versions; `elsewhere` has those of other environments."""

    versions: dict[str, str]
    elsewhere: dict[str, dict[str, str]]
    frameworks: dict[str, Measured]


def frameworks() -> Frameworks:
    """What was measured of the frameworks, as it was stored."""
    return msgspec.json.decode(STORED.read_bytes(), type=Frameworks)


@cache
def shown_of(rule: str) -> Shown | None:
    """What the fixture of a rule was seen to show, if it was run for its page."""
    path = cases.FIXTURES / rule / SHOWN
    return msgspec.json.decode(path.read_bytes(), type=Shown) if path.exists() else None


def chosen(rule: str, case: str | None = None) -> list[Program]:
    """The fixture of a rule that its page shows, for each framework that the newest Python has.

    That is `case`, or of the bad programs in one file the shortest that holds for most frameworks.
    """
    found: dict[str, list[Program]] = {}
    for program in cases.programs():
        if program.rule == rule and len(program.source.files) == 1 and program.environment == MAIN:
            found.setdefault(program.case, []).append(program)
    if case is not None:
        return found.get(case, [])
    bad = [programs for programs in found.values() if programs[0].is_bad]
    return min(bad, key=lambda one: (-len(one), len(one[0].files["main.py"]), one[0].case), default=[])


def shown_before(rule: str) -> list[Program]:
    """The fixture that the page of a rule shows already, if it is there still; without the file another is chosen."""
    known = shown_of(rule)
    return [] if known is None else chosen(rule, known.case)


def shown(outcome: Mapping[str, Any]) -> str:
    """What a run shows, as a Python prompt would."""
    lines = [line for line in outcome["output"].splitlines() if line.strip() and not _NOISE.match(line)]
    lines += outcome["warnings"]
    if outcome["error"] is not None:
        lines += _error(outcome["error"])
    for call in outcome["calls"]:
        lines += [f">>> {call['call']}", *(_error(call["error"]) if call["error"] else [call["value"]])]
    lines = [_shortened(_TEMPORARY.sub("", _ADDRESS.sub(" at 0x...", line.rstrip()))) for line in lines]
    return "\n".join(lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], "..."])


def _shortened(line: str) -> str:
    """A line as long as somebody reads it; an error is never that long."""
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def _error(error: Mapping[str, Any]) -> list[str]:
    first, *rest = f"{error['types'][0]}: {error['text']}".splitlines()
    return [first, *(line for line in rest if line.strip())]


def run(programs: Sequence[Program], mendings: Mapping[str, Mending] | None = None) -> dict[str, dict[str, Any]]:
    """The outcomes of programs that can be run here, by their ids; with `mendings`, of what they are made to."""
    from tests.oracle.environments import Runners  # needs more than the site does

    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        runners = Runners(root)
        try:
            jobs: dict[str, list[dict[str, Any]]] = {}
            for program in programs:
                folder = program.write(root / "programs")
                calls = [call.expression for call in program.consequence.calls]
                mend = (mendings or {}).get(program.id)
                if mend is not None and mend.after is not None:
                    (folder / "main.py").write_text(mend.after, encoding="utf-8")
                    calls = list(map(mend.call, calls))
                jobs.setdefault(program.environment, []).append(
                    {"id": program.id, "folder": str(folder), "calls": calls}
                )
            outcomes: dict[str, dict[str, Any]] = {}
            for environment, some in jobs.items():
                outcomes |= runners.run(environment, some)
            return outcomes
        finally:
            runners.end()


def run_rules(rules: Iterable[str]) -> dict[str, Shown]:
    """What the chosen programs of some rules show."""
    programs = [program for rule in rules for program in shown_before(rule) or chosen(rule)]
    programs = [program for program in programs if program.environment == MAIN and not program.missing]
    outcomes = run(programs)
    found: dict[str, Shown] = {}
    for program in programs:
        one = found.setdefault(program.rule, Shown(program.case, versions(), {}, {}))
        one.frameworks[program.framework] = shown(outcomes[program.id])
    mendings = {program.id: mend for program in programs if (mend := mending(program, versions())).after is not None}
    mended = [program for program in programs if program.id in mendings]
    outcomes = run(mended, mendings)
    for program in mended:
        found[program.rule].mended[program.framework] = shown(outcomes[program.id])
    return found


def versions() -> dict[str, str]:
    """The versions of the frameworks that are installed here."""
    found = {"python": ".".join(map(str, sys.version_info[:2]))}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def versions_of(program: Program) -> dict[str, str]:
    """The versions that matter where a program runs that needs an environment of its own."""
    package = FRAMEWORKS[program.framework].package
    return {name: dotted(program.versions[normalised(name)]) for name in ("python", "jax", package)}


def main() -> None:
    """Run the programs of the rules that are named, or of all, and store what they show."""
    named = sys.argv[1:]
    if not named or "frameworks" in named:
        probed = probes()
        elsewhere = {one.framework: versions_of(one) for one in probed if one.environment != MAIN}
        outcomes = run(probed)
        found = {one.framework: measured(outcomes[one.id]) for one in probed}
        _store(STORED, Frameworks(versions(), elsewhere, found))
    rules = named or sorted({program.rule for program in cases.programs()})
    for rule, seen in run_rules(rule for rule in rules if rule != "frameworks").items():
        _store(cases.FIXTURES / rule / SHOWN, seen)


def _store(path: Path, seen: Shown | Frameworks) -> None:
    path.write_text(json.dumps(msgspec.to_builtins(seen), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
