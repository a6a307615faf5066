"""The sample project, which editors open."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editor.projects import write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the sample project."""
    project = tmp_path / "project"
    write(project)
    return project
