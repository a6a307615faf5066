"""What is made once for all processes of pytest."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.once import once


def test_it_is_made_once(tmp_path: Path) -> None:
    made: list[int] = []

    def make() -> list[int]:
        made.append(1)
        return made

    assert once(tmp_path, "one", make) == once(tmp_path, "one", make) == [1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.json", "one.lock"]


def test_its_folder_may_be_taken_away_meanwhile(tmp_path: Path) -> None:
    """As a second pytest in the same tree does whose sources are newer."""
    folder = tmp_path / "stored" / "old"

    def make() -> dict[str, int]:
        shutil.rmtree(folder)
        return {"x": 1}

    assert once(folder, "one", make) == once(folder, "one", make) == {"x": 1}
