"""A real browser: Chromium, from Debian if it is not installed, and playwright, which PyPI has, below `.envs`."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests import debian
from tools.external import run

_PLAYWRIGHT = "playwright==1.65.2"
_SWITCHES = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


def chromium() -> tuple[str, dict[str, str]]:
    """Chromium and the environment in which it runs. Raises `Unavailable`."""
    installed = shutil.which("chromium")
    if installed is not None:
        return installed, {}
    usr = debian.unpacked("chromium") / "usr"
    return str(usr / "lib" / "chromium" / "chromium"), {"LD_LIBRARY_PATH": debian.libraries(usr)}


@contextmanager
def browser() -> Iterator[Any]:
    """A browser of playwright's. Raises `Unavailable`."""
    executable, environment = chromium()
    folder = debian.CACHE.parent / _PLAYWRIGHT
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = folder.with_name(f"{folder.name}.{os.getpid()}")
        run(sys.executable, "-m", "pip", "install", "-q", "--target", str(work), _PLAYWRIGHT, cwd=folder.parent)
        work.rename(folder)
    sys.path.append(str(folder))
    try:
        with importlib.import_module("playwright.sync_api").sync_playwright() as playwright:
            made = playwright.chromium.launch(
                executable_path=executable, env={**os.environ, **environment}, args=list(_SWITCHES)
            )
            try:
                yield made
            finally:
                made.close()
    finally:
        sys.path.remove(str(folder))


def picture(page: Any, name: str) -> None:
    """Keep what a page looks like, for who wants to see it."""
    folder = debian.CACHE.parent / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(folder / f"{name}.png"))
