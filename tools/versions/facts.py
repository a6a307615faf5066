"""The page of the facts that hold for some versions only, made from the recorded runs: docs/versions.md."""

from __future__ import annotations

from jaxlint.pytrees.frameworks import FRAMEWORKS
from jaxlint.pytrees.versions import version
from tests.oracle.environments import ROOT
from tools.versions.runs import Run, recorded

PAGE = ROOT / "docs" / "versions.md"
_TEXT = """\
---
hide:
  - toc
---

# What depends on versions

jaxlint takes the versions that your code runs with from the settings
[`target-version`](configuration.md#target-version), [`target-jax`](configuration.md#target-jax) and
[`target-versions`](configuration.md#target-versions), else from the environment, else from the dependencies in
`pyproject.toml`, `requirements.txt`, `setup.cfg`, `setup.py` or `environment.yml` (a lower bound alone counts for
nothing there: pip installs the newest); `jaxlint config` shows what was taken, and from where. What rules and messages
say depends on the facts below. They are declared in `jaxlint/pytrees/frameworks/`. Every fixture is run in the
environments of this table and must show what it states, and so must a program for each fact.

{environments}

A program that needs other versions says which (`# requires:` in its header), and each bound is that of a fact.
In the columns stands what the program of a fact has shown there.

<div class="wide" markdown>

{facts}

</div>
"""
_SHOWN = {True: "yes", False: "no", None: "not run"}


def page() -> str:
    """The page; a fact is a row, an environment a column."""
    columns = sorted(recorded().values(), key=lambda run: version(run.versions["jax"]))
    asked = ("python", "jax", "flax", "equinox", "chex", "jax-dataclasses", "mujoco-mjx", "penzai", "simple-pytree")
    environments = [_heading([""], columns), _rule(1, columns)]
    environments += [[name, *(run.versions.get(name, "none") for run in columns)] for name in asked]
    environments.append(["programs run", *(f"{run.programs:,}" if run.programs else "none" for run in columns)])
    environments.append(["programs that need other versions", *(f"{sum(run.skipped.values()):,}" for run in columns)])
    environments.append(["passed", *(f"{run.passed:,}" if run.passed else "none" for run in columns)])
    facts = [_heading(["framework", "fact", "holds"], columns), _rule(3, columns)]
    for framework in FRAMEWORKS:
        for fact in framework.facts:
            shown = [_SHOWN[run.facts.get(fact.name)] for run in columns]
            facts.append([framework.title.removesuffix(".tree_util.register_dataclass"), fact.says, fact.when, *shown])
    return _TEXT.format(environments=_table(environments), facts=_table(facts))


def _heading(first: list[str], columns: list[Run]) -> list[str]:
    return [*first, *(f"jax {run.versions['jax']}" for run in columns)]


def _rule(number: int, columns: list[Run]) -> list[str]:
    return ["---"] * (number + len(columns))


def _table(rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
