"""For any configuration, flake8 with the plugin reports what `jaxlint check` reports."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flake8.test_flake8 import flake8, jaxlint, places
from tests.flake8.test_flake8 import project as project

pytestmark = pytest.mark.comparisons

#: How rules are named: by code, by name, by prefix, by group, all of them; some are off by default.
RULES = (
    *("JAX109", "JAX205", "JAX303", "JAX401", "JAX402", "JAX403", "JAX002", "frozen-assignment", "local-pytree-class"),
    *("JAX4", "JAX1", "JAX", "updates", "ALL"),
)
PATTERNS = ("pkg/", "pkg/step.py", "*.py", "!pkg/step.py", "tests/")
EXCLUDED = ("pkg/", "step.py", "/pkg/step.py", "tests/", "*.pyi")
COMMENTS = ("assigned", "noqa", "noqa: JAX401", "noqa: JAX109", "noqa: frozen-assignment", "jaxlint: ignore[JAX401]")


def configurations(number: int) -> Iterator[tuple[str, str]]:
    """The text of a `pyproject.toml`, and a comment on a line with a finding."""
    chance = random.Random(20261122)
    for _ in range(number):
        lines = ["[tool.jaxlint]"]
        for key in ("select", "ignore", "extend-select", "extend-ignore"):
            if chance.random() < 0.4:
                chosen = chance.sample(RULES, chance.randint(1, 3))
                lines.append(f"{key} = {str(chosen).replace(chr(39), chr(34))}")
        if chance.random() < 0.5:
            lines.append(f'min-confidence = "{chance.choice(["low", "medium", "high"])}"')
        if chance.random() < 0.3:
            lines.append("preview = true")
        for key in ("exclude", "extend-exclude"):
            if chance.random() < 0.2:
                lines.append(f'{key} = ["{chance.choice(EXCLUDED)}"]')
        if chance.random() < 0.4:
            ignored = str(chance.sample(RULES, 2)).replace("'", '"')
            lines.append(f'[tool.jaxlint.per-file-ignores]\n"{chance.choice(PATTERNS)}" = {ignored}')
        yield "\n".join(lines) + "\n", chance.choice(COMMENTS)


@pytest.mark.parametrize(("configuration", "comment"), list(configurations(24)))
def test_same_findings(project: Path, configuration: str, comment: str) -> None:
    (project / "pyproject.toml").write_text(configuration)
    step = project / "pkg" / "step.py"
    step.write_text(step.read_text().replace("# assigned", f"# {comment}"))
    assert places(flake8(project)) == jaxlint(project)
