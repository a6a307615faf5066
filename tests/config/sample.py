"""Rules, and configurations that speak of them."""

from __future__ import annotations

from pathlib import Path

from jaxlint.config.table import all_keys
from jaxlint.rules.base import Rule

KEYS = all_keys()


class Unreadable(Rule):
    """What cannot be read."""

    code, name, group, since = "JAX001", "unreadable-file", "tool", "0.1.0"


class StaticArray(Rule):
    """A rule that is on."""

    code, name, group, since = "JAX201", "static-array-field", "static", "0.1.0"


class StaticCounter(Rule):
    """Another one."""

    code, name, group, since = "JAX202", "static-counter", "static", "0.1.0"


class StaleState(Rule):
    """One that is off."""

    code, name, group, since = "JAX407", "returned-old-state", "update", "0.1.0"
    enabled = False


class TreeAt(Rule):
    """One in preview."""

    code, name, group, since = "JAX411", "tree-at", "update", "0.1.0"
    enabled, preview = False, True


RULES = (Unreadable, StaticArray, StaticCounter, StaleState)


FULL = """\
[tool.jaxlint]
select = ["JAX2", "unreadable-file"]
extend-select = ["JAX407"]
ignore = ["static-counter"]
extend-ignore = ["JAX201"]
exclude = ["gen/", "*_pb2.py"]
extend-exclude = ["old/"]
src = ["src", "../lib"]
python = ".venv"
target-version = "3.11"
target-jax = "0.4.35"
min-confidence = "medium"
preview = true
fix = true
unsafe-fixes = true
fixable = ["JAX4"]
unfixable = ["JAX407"]
extend-safe-fixes = ["JAX2"]
extend-unsafe-fixes = ["JAX201"]
baseline = "known.json"
plugins = []

[tool.jaxlint.per-file-ignores]
"tests/" = ["JAX2"]
"!src/*.py" = ["static-counter", "ALL"]

[tool.jaxlint.target-versions]
flax = ">=0.10,<0.12"

[tool.jaxlint.extra-decorators]
"mylib.state" = "flax.struct.dataclass"

[tool.jaxlint.extra-bases]
"mylib.Node" = "flax.struct.PyTreeNode"

[tool.jaxlint.extra-fields]
"mylib.field" = "flax.struct.field"
"mylib.static" = { like = "flax.struct.field", static = true }
"""


def pyproject(body: str, name: str = "pyproject.toml") -> str:
    """Write a configuration, and say where."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(body)
    return name
