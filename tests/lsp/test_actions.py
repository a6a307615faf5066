"""Code actions through the protocol: what they are, and what a file is after them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.client import PUSH, Client
from tests.lsp.test_diagnostics import EMOJI, codes, place

Start = Callable[[], Client]
ALL = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}


def opened(client: Client, folder: Path, capabilities: Any = PUSH, text: str = EMOJI) -> str:
    client.initialize(folder, capabilities=capabilities)
    uri = (folder / "a.py").as_uri()
    client.open(uri, text)
    client.diagnostics(uri)
    return uri


def actions(client: Client, uri: str, where: dict[str, Any], only: list[str] | None = None) -> dict[str, Any]:
    context: dict[str, Any] = {"diagnostics": []} if only is None else {"diagnostics": [], "only": only}
    params = {"textDocument": {"uri": uri}, "range": where, "context": context}
    found = client.ask("textDocument/codeAction", params)
    assert len({action["title"] for action in found}) == len(found)
    return {action["title"]: action for action in found}


def edits(action: dict[str, Any]) -> list[dict[str, Any]]:
    (change,) = action["edit"]["documentChanges"]
    found: list[dict[str, Any]] = change["edits"]
    return found


def apply(client: Client, uri: str, action: dict[str, Any]) -> list[str]:
    """What is found after an action, as the client applies it."""
    last_first = sorted(edits(action), key=lambda e: list(e["range"]["start"].values()), reverse=True)
    client.change(uri, *({"range": edit["range"], "text": edit["newText"]} for edit in last_first))
    return codes(client.diagnostics(uri))


def test_a_fix(start: Start, tmp_path: Path) -> None:
    client = start()
    uri = opened(client, tmp_path)
    found = actions(client, uri, place(9, "größe.replace", "utf-16"))
    fix = found["Assign the result to `größe` (changes what the program does)"]
    at = place(9, "größe.replace", "utf-16")["start"]
    assert edits(fix) == [{"range": {"start": at, "end": at}, "newText": "größe = "}]
    assert fix["edit"]["documentChanges"][0]["textDocument"] == {"uri": uri, "version": 1}
    assert (fix["kind"], fix.get("isPreferred"), codes(fix["diagnostics"])) == ("quickfix", None, ["JAX403"])
    assert apply(client, uri, fix) == ["JAX401", "JAX002"]
    assert client.stop() == 0


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Suppress JAX403 here (noqa)", "  # noqa: JAX403"),
        ("Suppress discarded-update here, with a reason", "  # jaxlint: ignore[discarded-update] -- explain why"),
    ],
)
def test_suppressing_here(start: Start, tmp_path: Path, title: str, text: str) -> None:
    client = start()
    uri = opened(client, tmp_path)
    action = actions(client, uri, place(9, "größe.replace(wert=2)", "utf-16"))[title]
    at = place(9, "größe.replace(wert=2)", "utf-16")["end"]
    assert edits(action) == [{"range": {"start": at, "end": at}, "newText": text}]
    assert apply(client, uri, action) == ["JAX401", "JAX002"]
    assert client.stop() == 0


def test_suppressing_where_a_comment_is(start: Start, tmp_path: Path) -> None:
    client = start()
    uri = opened(client, tmp_path)
    found = actions(client, uri, place(8, "größe.wert", "utf-16"))
    assert apply(client, uri, found["Suppress JAX401 here (noqa)"]) == ["JAX403", "JAX002"]
    assert client.stop() == 0


def test_the_page_of_a_rule(start: Start, tmp_path: Path) -> None:
    client = start()
    uri = opened(client, tmp_path)
    action = actions(client, uri, place(9, "größe.replace", "utf-16"))["Read about discarded-update (JAX403)"]
    command = action["command"]
    url = "https://jaxlint-pytree.readthedocs.io/en/latest/rules/discarded-update/"
    params = {"command": command["command"], "arguments": command["arguments"]}
    assert client.ask("workspace/executeCommand", params) == url
    shown = [r["params"] for r in client.requests if r["method"] == "window/showDocument"]
    assert shown == [{"uri": url, "external": True}]
    params = {"command": "jaxlint.openRule", "arguments": ["JAX999"]}
    assert client.ask("workspace/executeCommand", params) is None
    assert client.stop() == 0


def test_fixing_all_that_is_safe(start: Start, tmp_path: Path) -> None:
    client = start()
    text = EMOJI + "x = 1  # noqa: JAX401, E501, JAX402\r\n# jaxlint: ignore-file[JAX501]\r\n"
    uri = opened(client, tmp_path, text=text)
    assert codes(client.diagnostics(uri)) == ["JAX401", "JAX403", "JAX002", "JAX002", "JAX002", "JAX002"]
    for only in ("source", "source.fixAll", "source.fixAll.jaxlint"):
        (action,) = actions(client, uri, ALL, [only]).values()
        assert action["kind"] == "source.fixAll.jaxlint"
    assert actions(client, uri, ALL, ["refactor"]) == actions(client, uri, ALL, ["source.fixAll.ruff"]) == {}
    assert [(e["range"], e["newText"]) for e in edits(action)][2:] == [
        (place(11, ": JAX401, E501", "utf-16", text) and _range(11, 15, 11, 23), ""),
        (_range(11, 27, 11, 35), ""),
        (_range(12, 0, 13, 0), ""),
    ]
    assert apply(client, uri, action) == ["JAX403"]
    assert actions(client, uri, ALL, ["source.fixAll"]) == {}
    assert client.stop() == 0


def _range(*numbers: int) -> dict[str, Any]:
    line, character, end_line, end_character = numbers
    return {"start": {"line": line, "character": character}, "end": {"line": end_line, "character": end_character}}


def test_a_safe_fix_is_preferred(start: Start, tmp_path: Path) -> None:
    client = start()
    uri = opened(client, tmp_path)
    found = actions(client, uri, place(10, "JAX402", "utf-16"))
    assert set(found) == {"Remove the comment, which suppresses nothing", "Read about unused-suppression (JAX002)"}
    action = found["Remove the comment, which suppresses nothing"]
    assert action["isPreferred"] is True
    assert apply(client, uri, action) == ["JAX401", "JAX403"]
    assert client.stop() == 0


def test_a_client_without_versioned_edits(start: Start, tmp_path: Path) -> None:
    client = start()
    uri = opened(client, tmp_path, {"textDocument": {}})
    found = actions(client, uri, place(10, "JAX402", "utf-16"))
    edit = found["Remove the comment, which suppresses nothing"]["edit"]
    assert list(edit["changes"]) == [uri]
    assert client.stop() == 0


def test_fixing_all_of_a_rule(start: Start, tmp_path: Path) -> None:
    client = start()
    text = EMOJI.replace("größe.wert = 1", "größe.wert = 1; größe.wert = 2")
    uri = opened(client, tmp_path, text=text)
    title = "Fix all JAX401 (frozen-assignment) in this file"
    found = actions(client, uri, place(8, "größe.wert", "utf-16"))
    assert apply(client, uri, found[title]) == ["JAX403", "JAX002"]
    assert client.stop() == 0
