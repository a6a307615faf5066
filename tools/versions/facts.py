"""The page of the facts that hold for some versions only: docs/versions.md."""

from __future__ import annotations

from jaxlint.pytrees.frameworks import FRAMEWORKS
from jaxlint.pytrees.versions import Fact, dotted
from tests.oracle import versions
from tests.oracle.environments import ROOT
from tests.oracle.versions import Versions

PAGE = ROOT / "docs" / "versions.md"
_TEXT = """\
# What depends on versions

jaxlint takes the versions that your code runs with from the settings
[`target-version`](configuration.md#target-version), [`target-jax`](configuration.md#target-jax) and
[`target-versions`](configuration.md#target-versions), else from the environment, else from the dependencies in
`pyproject.toml`; `jaxlint config` shows what was taken, and from where. What rules and messages say depends on the
facts below. They are declared in `jaxlint/pytrees/frameworks/`, and all fixtures are held to them in these
environments:

{environments}

{facts}
"""


def page() -> str:
    """The page; a fact is a row, an environment a column."""
    columns = {name: versions.locked(name) for name in reversed(versions.MATRIX)}
    asked = ("python", "jax", "flax", "equinox", "chex", "jax-dataclasses", "mujoco-mjx", "penzai", "simple-pytree")
    environments = [["", *columns], ["---"] * (len(columns) + 1)]
    environments += [[name, *(dotted(known[name]) for known in columns.values())] for name in asked]
    facts = [["framework", "fact", "holds", *columns], ["---"] * (len(columns) + 3)]
    for framework in FRAMEWORKS:
        for fact in framework.facts:
            held = [_held(fact, known) for known in columns.values()]
            facts.append([framework.title, fact.says, fact.when, *held])
    return _TEXT.format(environments=_table(environments), facts=_table(facts))


def _held(fact: Fact, known: Versions) -> str:
    return "yes" if fact.of in known and fact.holds_in(known[fact.of]) else "no"


def _table(rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
