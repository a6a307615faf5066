"""What holds for all tests."""

import pytest


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test starts from nothing and leaves nothing behind; the tests of the cache take this back."""
    monkeypatch.setenv("JAXLINT_NO_CACHE", "1")
