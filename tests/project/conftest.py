"""What tests of projects share."""

from __future__ import annotations

import pytest

from jaxlint.finding import Finding
from jaxlint.linter.checker import Checker
from jaxlint.project.modules import Module


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the modules that are checked."""
    checked: list[str] = []
    check = Checker.check

    def noted(checker: Checker, module: Module) -> list[Finding]:
        checked.append(module.path)
        return check(checker, module)

    monkeypatch.setattr(Checker, "check", noted)
    return checked
