"""A file is about one thing: none is longer than 500 lines."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("folder", ["benchmarks", "jaxlint", "plugins", "tests", "tools"])
def test_no_file_is_long(folder: str) -> None:
    files = [path for path in (ROOT / folder).rglob("*.py") if "node_modules" not in path.parts]
    lengths = {path.relative_to(ROOT).as_posix(): path.read_bytes().count(b"\n") for path in files}
    assert {name: length for name, length in lengths.items() if length > 500} == {}
