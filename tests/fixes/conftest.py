"""What tests of `jaxlint check --fix` have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixes.test_fix_commands import TEXT


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with one file in which something can be fixed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAXLINT_NO_CACHE", "1")
    (tmp_path / "a.py").write_text(TEXT)
    return tmp_path
