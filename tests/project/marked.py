"""Projects whose files say which findings there are to be in them."""

from __future__ import annotations

import textwrap
from pathlib import Path

from jaxlint import check_paths
from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence

STATE = """
    from flax import struct

    @struct.dataclass
    class State:
        x: int
"""

STEP = """
    def step(state: State):
        state.x = 1  # JAX401
"""


def write(root: Path, files: dict[str, str]) -> None:
    """Write files below `root`, as texts that may be indented."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")


def findings(root: Path, settings: Settings | None = None) -> set[str]:
    """All certain findings below `root`, as `file:row: code`."""
    result = check_paths([str(root)], settings)
    assert result.errors == []
    return {
        f"{Path(f.path).relative_to(root)}:{f.row}: {f.code}"
        for f in result.findings
        if f.confidence is not Confidence.LOW
    }


def marked(files: dict[str, str]) -> set[str]:
    """The lines that say which code is to be found in them."""
    return {
        f"{name}:{row}: {line.rpartition('# ')[2]}"
        for name, text in files.items()
        for row, line in enumerate(text.splitlines(), 1)
        if "# JAX" in line
    }


def check(root: Path, files: dict[str, str], settings: Settings | None = None) -> None:
    """The marked lines are found, and no others."""
    write(root, files)
    assert findings(root, settings) == marked(files)
