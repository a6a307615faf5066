"""What is used of mypy although mypy does not offer it: the versions in which it was tried; it stays in one file."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import jaxlint_mypy
from jaxlint_mypy.internals import TRIED

_PRIVATE = re.compile(
    r"\.tscope\b|\.filter_errors\b|\.fallback_to_any\b|\.plugin_deps\b|\.scope\.|(?<!jaxlint)\.errors\b"
    r"|\._promote\b|\._type_maps\b|\.lookup_type_or_none\b|\.get_expression_type\b|fine_grained_incremental|\bgc\."
)


def test_versions() -> None:
    assert version("mypy") in TRIED


def test_one_file() -> None:
    modules = Path(jaxlint_mypy.__file__).parent.glob("*.py")
    reaching = {module.name for module in modules if _PRIVATE.search(module.read_text(encoding="utf-8"))}
    assert reaching <= {"internals.py"}
