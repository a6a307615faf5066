"""An editor does not wait: a generous ceiling, for machines that are busy; benchmarks/editor.py measures."""

from __future__ import annotations

import ast
import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.editor import WORDS, program, typed
from jaxlint.editor.workspace import Workspace
from tests.lsp.client import Client

CEILING = 0.2
#: The same in parses of the file, for machines on which everything takes longer now: a check, whose memory does not fit
#: into a cache that ten processes share, then takes three times as many of them as on an idle one.
CEILING_IN_PARSES = 40


def test_diagnostics_of_2000_lines_come_soon(tmp_path: Path) -> None:
    """In CPU time, of which nobody else on the machine takes a part; garbage is collected as the server does it."""
    text = program(2000)
    path = tmp_path / "program.py"
    path.write_text(text)
    workspace = Workspace([str(tmp_path)])
    workspace.set_text(str(path), text)
    found = workspace.findings(str(path))
    at = text.index("    history = []", len(text) // 2)
    seconds: list[float] = []
    parses: list[float] = []
    gc.disable()
    for number in range(9):
        edited = text[:at] + WORDS[number % len(WORDS)] + "\n" + text[at:]
        began = time.process_time()
        workspace.set_text(str(path), edited)
        now = workspace.findings(str(path), is_complete=False)
        seconds.append(time.process_time() - began)
        assert len(now) >= len(found)
        began = time.process_time()
        ast.parse(edited)
        parses.append(time.process_time() - began)
    gc.enable()
    ceiling = max(CEILING, CEILING_IN_PARSES * statistics.median(parses))
    assert min(seconds) < ceiling


@pytest.mark.comparisons
def test_diagnostics_come_through_the_protocol(start: Callable[[], Client], tmp_path: Path) -> None:
    """On the clock; the least of several shows what the server takes when it gets the machine."""
    text = program(500)
    client = start()
    client.initialize(tmp_path)
    uri = (tmp_path / "program.py").as_uri()
    client.open(uri, text)
    client.diagnostics(uri)
    row = text.count("\n", 0, text.index("    history = []")) + 1
    times = [clock for clock, _ in typed(client, uri, row, ("    a = 1",), 8)]
    began = time.monotonic()
    ast.parse(text)
    assert min(times) < 2 * max(CEILING, 2 * CEILING_IN_PARSES * (time.monotonic() - began))
    assert client.stop() == 0
