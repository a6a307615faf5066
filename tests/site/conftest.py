"""The site, built once, with some of the programs mended."""

from __future__ import annotations

import shutil
import zlib
from pathlib import Path

import pytest

from jaxlint.rules import all_rules
from tests.oracle import cases
from tools.site.__main__ import BUILT, ROOT, WRITTEN, build, write
from tools.site.executed import chosen, shown_of
from tools.site.mending import Mending
from tools.site.rule_pages import mended


@pytest.fixture(scope="session")
def mendings(is_thorough: bool) -> dict[str, Mending]:
    """How programs of pages are mended, by their ids: in one framework of each rule, with `--thorough` in all."""
    some: list[cases.Program] = []
    for rule in all_rules():
        shown = shown_of(rule.name)
        of_rule = [] if shown is None else chosen(rule.name, shown.case)
        first = zlib.crc32(rule.code.encode()) % len(of_rule) if of_rule else 0
        some += of_rule if is_thorough else of_rule[first : first + 1]
    return {program.id: mended(program) for program in some}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, mendings: dict[str, Mending]) -> Path:
    """The folder of the built site; every warning fails."""
    pytest.importorskip("zensical", reason="the builder of the site comes with `.[ci]`, and needs Python 3.11")
    root = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "mkdocs.yml", root)
    write(root / WRITTEN, lambda program: mendings.get(program.id, Mending(None)))
    assert build(root) == 0
    return root / BUILT
