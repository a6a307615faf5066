"""Random edits through the protocol end with the diagnostics of a fresh check."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxlint import check_paths
from jaxlint.config.configuration import Configuration
from tests.editor.projects import FILES, LINES, write
from tests.lsp.client import Client

MODULES = [name for name in FILES if name.endswith(".py")]
SEQUENCES = 40


def random_change(text: str, choice: random.Random) -> dict[str, Any]:
    """An incremental change as an editor sends it."""
    lines = text.split("\n")
    row = choice.randrange(len(lines))
    start = {"line": row, "character": 0}
    kind = choice.randrange(3)
    if kind == 0:
        return {"range": {"start": start, "end": start}, "text": choice.choice(LINES) + "\n"}
    if kind == 1 and row + 1 < len(lines):
        return {"range": {"start": start, "end": {"line": row + 1, "character": 0}}, "text": ""}
    column = choice.randrange(len(lines[row]) + 1)
    at = {"line": row, "character": len(lines[row][:column].encode("utf-16-le")) // 2}
    return {"range": {"start": at, "end": at}, "text": choice.choice(["x", "😀", "\n", " ", "# "])}


def applied(text: str, change: dict[str, Any]) -> str:
    """What a text is after a change, worked out in another way than in the server."""
    lines = [line + "\n" for line in text.split("\n")]
    first, last = change["range"]["start"], change["range"]["end"]

    def cut(row: int, units: int) -> tuple[str, str]:
        raw = lines[row].encode("utf-16-le")
        return raw[: units * 2].decode("utf-16-le"), raw[units * 2 :].decode("utf-16-le")

    before = "".join(lines[: first["line"]]) + cut(first["line"], first["character"])[0]
    after = cut(last["line"], last["character"])[1] + "".join(lines[last["line"] + 1 :])
    return (before + str(change["text"]) + after)[:-1]


def said(client: Client, uri: str) -> list[tuple[str, int, int]] | None:
    """What the client heard last of a document: codes and rows."""
    published = [p for p in client.said("textDocument/publishDiagnostics") if p["uri"] == uri]
    if not published:
        return None
    return [(d["code"], d["range"]["start"]["line"], d["range"]["end"]["line"]) for d in published[-1]["diagnostics"]]


def test_sequences_of_edits(start: Callable[[], Client], folder: Path) -> None:
    client = start()
    client.initialize(folder)
    choice = random.Random(7)
    seen: set[tuple[str, ...]] = set()
    edits = 0
    uris = {name: (folder / name).as_uri() for name in MODULES}
    for _ in range(SEQUENCES):
        write(folder)
        changes = [{"uri": uri, "type": 2} for uri in uris.values()]
        client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        texts = {name: FILES[name] for name in choice.sample(MODULES, 3)}
        for name, text in texts.items():
            client.open(uris[name], text)
        for _ in range(choice.randrange(1, 12)):
            name = choice.choice(list(texts))
            change = random_change(texts[name], choice)
            texts[name] = applied(texts[name], change)
            client.change(uris[name], change)
            edits += 1
        for name, text in texts.items():
            (folder / name).write_text(text, newline="")
        found = check_paths([str(folder)], Configuration()).findings
        expected = {
            uris[name]: [(f.code, f.row - 1, f.end_row - 1) for f in found if f.path == str(folder / name)]
            for name in texts
        }

        def is_said(expected: dict[str, list[tuple[str, int, int]]] = expected) -> bool:
            return all(said(client, uri) == wanted for uri, wanted in expected.items())

        client.until(is_said)
        seen |= {tuple(code for code, _, _ in wanted) for wanted in expected.values()}
        for name in texts:
            client.close(uris[name])
        client.notes.clear()
    assert edits >= 100 and len(seen) >= 15
    assert client.stop() == 0
