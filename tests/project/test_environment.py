"""What is said of a `python` that names no environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxlint.errors import UserError
from jaxlint.project.environment import site_packages


def test_a_folder_that_is_no_environment_is_not_asked_for_again(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"it is no environment$"):
        site_packages(str(tmp_path))
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.touch()
    with pytest.raises(UserError, match=r"give the environment's folder instead$"):
        site_packages(str(program))
    with pytest.raises(UserError, match=r"there is no such interpreter or environment$"):
        site_packages(str(tmp_path / "gone"))
