"""The locks of the environments that fixtures run in, resolved by uv from what `tests/oracle/versions.py` asks for."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.oracle import environments, versions


def resolve(name: str) -> str:
    """What the environment `name` is made of with what the registry has today. Raises `Unavailable`."""
    column = versions.COLUMNS[name]
    python = next(filter(None, map(environments.find_python, column.pythons)), None)
    if python is None:
        raise environments.Unavailable(f"no Python {' or '.join(column.pythons)} on this machine")
    with tempfile.TemporaryDirectory() as folder:
        frameworks = Path(folder, "frameworks.txt")
        limit = ["--exclude-newer", column.before] if column.before else []
        frameworks.write_text(_compile(python, column.frameworks, folder, *limit))
        if not column.testing:
            return frameworks.read_text()
        # the tools of the tests may be younger than the frameworks
        both = [*column.frameworks, *column.testing]
        return _compile(python, both, folder, "--constraint", str(frameworks))


def _compile(python: str, requirements: Sequence[str], folder: str, *options: str) -> str:
    asked = Path(folder, "requirements.in")
    asked.write_text("\n".join(requirements) + "\n")
    command = [environments.UV, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", python]
    done = subprocess.run([*command, *options, str(asked)], capture_output=True, text=True)
    if done.returncode:
        raise environments.Unavailable(f"uv cannot resolve {', '.join(requirements)}:\n{done.stderr[-4000:]}")
    return done.stdout
