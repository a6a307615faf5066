"""The two front ends over one source: what `jaxlint check` finds, and what mypy with the plugin does, line by line."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec
from jaxlint_mypy.running import left_out

from jaxlint.rules import all_rules
from tools.ecosystem.ledger import Found
from tools.ecosystem.sources import CheckFailed

#: What mypy or the plugin says in other words than `jaxlint check`: by the code, a part of the message.
MYPY_SAYS = {
    "JAX401": "is read-only",
    "JAX306": "is read-only",
    "JAX311": "[call-arg]",
    "JAX402": "[call-arg]",
    "JAX404": "[attr-defined]",
    "JAX412": "[call-arg]",
    "JAX413": "[index]",
}
_CONFIG = """[mypy]
plugins = jaxlint_mypy
ignore_missing_imports = True
check_untyped_defs = True
"""
_REPORT = re.compile(r"^(?P<path>[^:\n]+):(?P<row>\d+): error: (?P<text>.*)$", re.MULTILINE)
_NAME = re.compile(r"\[jaxlint-([\w-]+)\]$")
_NAMES = {rule.code: rule.name for rule in all_rules()}
_CODES = {name: code for code, name in _NAMES.items()}
_Place = tuple[str, int]


class Faces(msgspec.Struct):
    """How the findings of a source compare."""

    #: How many both report, mypy in its own words too.
    both: int = 0
    #: How many rules report that are left to `jaxlint check`.
    left: int = 0
    only_check: list[Found] = []
    only_mypy: list[tuple[str, int, str]] = []


def typed(source: Path, cache: Path, min_confidence: str = "medium") -> dict[_Place, list[str]]:
    """What mypy with the plugin reports for the packages in a folder, by file and line. Raises `CheckFailed`."""
    cache.mkdir(parents=True, exist_ok=True)
    config = cache / "mypy.ini"
    config.write_text(_CONFIG, encoding="utf-8")
    settings = f'[tool.jaxlint]\nmin-confidence = "{min_confidence}"\n'
    (cache / "pyproject.toml").write_text(settings, encoding="utf-8")
    folders = sorted(folder for folder in source.iterdir() if folder.name.isidentifier())
    packages = [folder.name for folder in folders if any(folder.rglob("*.py"))]  # some are namespaces
    asked = [part for name in packages for part in ("-p", name)]
    command = [sys.executable, "-m", "mypy", f"--config-file={config}", f"--cache-dir={cache / 'cache'}", *asked]
    done = subprocess.run(command, capture_output=True, text=True, cwd=source)
    if done.returncode not in (0, 1):
        raise CheckFailed(f"{source.name}: mypy: exit {done.returncode}: {(done.stdout + done.stderr).strip()[-500:]}")
    found: dict[_Place, list[str]] = defaultdict(list)
    for match in _REPORT.finditer(done.stdout):
        found[match["path"], int(match["row"])].append(match["text"])
    return found


def compare(found: list[Found], reported: dict[_Place, list[str]]) -> Faces:
    """Hold the findings of `jaxlint check` against the reports of mypy in the same files."""
    faces = Faces()
    for one in found:
        said = reported.get((one.place.path, one.place.row), [])
        words = (f"[jaxlint-{_NAMES.get(one.place.code)}]", MYPY_SAYS.get(one.place.code, "\n"))
        if any(word in text for text in said for word in words):
            faces.both += 1
        elif _NAMES.get(one.place.code, "") in left_out():
            faces.left += 1
        else:
            faces.only_check.append(one)
    checked = {one.place[1:] for one in found}
    faces.only_mypy = [one for one in _ours(reported) if one not in checked]
    return faces


def _ours(reported: dict[_Place, list[str]]) -> Iterator[tuple[str, int, str]]:
    """The reports of jaxlint's rules; what only types tell has no rule."""
    for (path, row), texts in reported.items():
        names = (match[1] for text in texts if (match := _NAME.search(text)))
        yield from [(path, row, _CODES[name]) for name in names if name in _CODES]
