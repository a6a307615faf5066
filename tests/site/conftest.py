"""The site, built once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.site.__main__ import BUILT, ROOT, WRITTEN, build, write


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site; every warning fails."""
    pytest.importorskip("zensical", reason="the builder of the site comes with `.[ci]`, and needs Python 3.11")
    root = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "mkdocs.yml", root)
    write(root / WRITTEN)
    assert build(root) == 0
    return root / BUILT
