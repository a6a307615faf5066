"""The versions that programs run with: what each environment is made of, and what a fixture says of versions.

An environment is locked in a file of `locks/`: every distribution with its version.
`python -m tools.versions lock NAME` makes the file anew from what stands here.
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from jaxlint.config.versions import normalised
from jaxlint.pytrees.target import DISTRIBUTIONS
from jaxlint.pytrees.versions import Version, VersionRange, dotted, version

LOCKS = Path(__file__).with_name("locks")

#: Which version there is of what: of `python` and of distributions, by their normalised names.
Versions: TypeAlias = Mapping[str, Version]

_FRAMEWORKS = (
    *("jax", "flax", "equinox", "chex", "jax_dataclasses", "jaxtyping", "mujoco-mjx", "numpy", "optax", "penzai"),
    "simple-pytree",
)
#: What `pytest -m versions` needs in an environment to run the tests in it.
_TESTING = ("click", "filelock", "hypothesis", "libcst>=1.8", "msgspec", "pathspec", "pytest", "pytest-xdist", "rich")
_CONDITION = re.compile(r"([A-Za-z][\w-]*) ?(>=|<) ?([0-9]+(?:\.[0-9]+)*)")
_PINNED = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;]+)", re.MULTILINE)


@dataclass(frozen=True)
class Column:
    """What an environment is made of: acceptable Pythons, the best first, and requirements.

    Of the frameworks only what had been released before the day `before` is taken, if there is one.
    """

    pythons: tuple[str, ...]
    frameworks: tuple[str, ...]
    testing: tuple[str, ...] = ()
    before: str = ""


#: The environments beside the one that runs the tests, by name. Of those that can run the tests, the matrix is made.
COLUMNS: dict[str, Column] = {
    "newest": Column(("3.13",), (*_FRAMEWORKS, "tjax"), _TESTING),
    "middle": Column(("3.12",), ("jax>=0.6,<0.7", "jaxlib>=0.6,<0.7", *_FRAMEWORKS[1:]), _TESTING, before="2025-07-01"),
    "oldest": Column(
        ("3.10",),
        ("jax==0.4.35", "jaxlib==0.4.34", "flax>=0.10,<0.11", "equinox>=0.11,<0.12", "chex==0.1.87", *_FRAMEWORKS[4:]),
        (*_TESTING, "tomli"),
        before="2024-12-01",
    ),
    "treex": Column(
        ("3.9",),
        (
            *("treex==0.6.9", "treeo==0.0.9", "flax==0.4.2", "jax==0.4.13", "jaxlib==0.4.13", "numpy==1.23.5"),
            *("optax==0.0.9", "chex==0.1.7", "scipy==1.11.4"),
        ),
    ),
}
#: The columns of the matrix that are not the environment which runs the tests.
MATRIX = tuple(name for name, column in COLUMNS.items() if column.testing)


def lock(name: str) -> Path:
    """The file that says which distributions are in an environment."""
    return LOCKS / f"{name}.txt"


@cache
def locked(name: str) -> Versions:
    """What the environment `name` holds."""
    return pinned(lock(name).read_text(), COLUMNS[name])


def pinned(text: str, column: Column) -> Versions:
    """What an environment of a column holds for which the `text` pins what is in it."""
    found = {normalised(one): version(number) for one, number in _PINNED.findall(text)}
    return {"python": version(column.pythons[0])} | found


@cache
def here() -> Versions:
    """What the environment of this interpreter holds."""
    known = [one.metadata for one in importlib.metadata.distributions()]  # each time that one is asked for it is parsed
    found = {normalised(one["Name"]): version(one["Version"]) for one in known if one["Name"]}
    return {"python": tuple(sys.version_info[:2])} | found


def target_versions(known: Versions) -> dict[str, VersionRange]:
    """What an environment holds, as settings of jaxlint."""
    return {name: VersionRange.exactly(known[name]) for name in sorted({"python", *DISTRIBUTIONS} & set(known))}


@dataclass(frozen=True)
class Condition:
    """`jax>=0.6` or `jax<0.12`."""

    name: str
    is_lower: bool
    bound: Version

    def holds(self, versions: Versions) -> bool:
        """Whether it holds for what an environment has; for what it does not have, it does not."""
        known = versions.get(self.name)
        return known is not None and (known >= self.bound) is self.is_lower

    def __str__(self) -> str:
        return f"{self.name}{'>=' if self.is_lower else '<'}{dotted(self.bound)}"


@cache
def conditions(text: str) -> tuple[tuple[Condition, ...], str]:
    """The conditions on versions in a text, and what is left of it without them."""
    found = tuple(
        Condition(normalised(match[1]), match[2] == ">=", version(match[3])) for match in _CONDITION.finditer(text)
    )
    return found, _CONDITION.sub("", text)
