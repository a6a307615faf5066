"""What the tests of the configuration share."""

from __future__ import annotations

from pathlib import Path

import pytest

import jaxlint.rules
from tests.config.sample import RULES


@pytest.fixture
def sample_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, in which there are three rules."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jaxlint.rules, "all_rules", lambda: RULES)
