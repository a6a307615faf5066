"""The folder and the rules that the samples are about."""

from __future__ import annotations

from pathlib import Path

import pytest

import jaxlint.report.sarif
import jaxlint.rules
from tests.report.samples import RULES, SOURCE, FrozenAssignment, StaleState, Unused


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, the current one, with the file that has the findings."""
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "train.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def rules_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some rules as they are here, whatever becomes of them."""
    ours = (FrozenAssignment, StaleState, Unused)
    others = [rule for rule in RULES if rule.code not in {one.code for one in ours}]
    monkeypatch.setattr(jaxlint.rules, "all_rules", lambda: (*ours, *others))
    monkeypatch.setattr(jaxlint.report.sarif, "__version__", "1.2.3")
