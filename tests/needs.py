"""What is not installed everywhere: tests that need it are skipped, and nothing is imported to know that."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def needs(*packages: str) -> None:
    """Skip the test, or the file at its top, if one of some packages is not installed.

    `pytest.importorskip` imports it: each process that collects tests would load jax and flax for files that it never
    runs, and forks would copy them.
    """
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed", allow_module_level=True)
