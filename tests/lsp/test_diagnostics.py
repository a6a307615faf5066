"""Diagnostics through the protocol: exact ranges, versions, dependents, folders, untitled files, configuration."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jaxlint import check_paths
from tests.editor.projects import FILES, write
from tests.lsp.client import PULL, PUSH, Client

Start = Callable[[], Client]
#: A file with an emoji, letters of two and three bytes, and line ends of Windows.
EMOJI = (
    "import jax\r\n"
    "from flax import struct\r\n"
    "\r\n"
    "@struct.dataclass\r\n"
    "class Größe:\r\n"
    "    wert: jax.Array  # 😀\r\n"
    "\r\n"
    "def f(größe: Größe):\r\n"
    "    x = '😀…é'; größe.wert = 1  # 😀\r\n"
    "    '😀'; größe.replace(wert=2)\r\n"
    "    return größe  # 😀 # noqa: JAX402\r\n"
)
ENCODINGS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
UNITS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


def units(text: str, encoding: str) -> int:
    return len(text.encode(ENCODINGS[encoding])) // UNITS[encoding]


def place(row: int, piece: str, encoding: str, text: str = EMOJI) -> dict[str, Any]:
    """The range of a piece of text in a row (from 0), as it is counted in an encoding."""
    line = text.split("\r\n" if "\r\n" in text else "\n")[row]
    start = units(line[: line.index(piece)], encoding)
    end = start + units(piece, encoding)
    return {"start": {"line": row, "character": start}, "end": {"line": row, "character": end}}


def codes(diagnostics: list[dict[str, Any]]) -> list[str]:
    return [d["code"] for d in diagnostics]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_exact_ranges_and_all_that_a_diagnostic_says(start: Start, tmp_path: Path, encoding: str) -> None:
    client = start()
    capabilities = {**PUSH, "general": {"positionEncodings": [encoding]}}
    assert client.initialize(tmp_path, capabilities=capabilities)["capabilities"]["positionEncoding"] == encoding
    uri = (tmp_path / "größe.py").as_uri()
    client.open(uri, EMOJI)
    found = client.diagnostics(uri)
    assert [(d["code"], d["range"], d["severity"]) for d in found] == [
        ("JAX401", place(8, "größe.wert", encoding), 1),
        ("JAX403", place(9, "größe.replace(wert=2)", encoding), 1),
        ("JAX002", place(10, "JAX402", encoding), 2),
    ]
    assert [d.get("tags") for d in found] == [None, None, [1]]
    assert [d["codeDescription"]["href"].split("/")[-2] for d in found] == [
        "frozen-assignment",
        "discarded-update",
        "unused-suppression",
    ]
    assert {d["source"] for d in found} == {"jaxlint"}
    assert found[0]["message"].startswith("`Größe` is frozen")
    assert client.stop() == 0


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_incremental_edits_are_applied_as_the_client_counts(start: Start, tmp_path: Path, encoding: str) -> None:
    client = start()
    client.initialize(tmp_path, capabilities={**PUSH, "general": {"positionEncodings": [encoding]}})
    uri = (tmp_path / "a.py").as_uri()
    client.open(uri, EMOJI)
    first = client.diagnostics(uri)
    wert = place(8, "größe.wert = 1", encoding)
    client.change(uri, {"range": wert, "text": "pass"}, {"range": place(9, "'😀'; ", encoding), "text": ""})
    assert codes(client.diagnostics(uri)) == ["JAX403", "JAX002"]
    start_of_call = client.diagnostics(uri)[0]["range"]["start"]
    assert start_of_call == {"line": 9, "character": 4}
    at = {"line": 2, "character": 0}
    client.change(uri, {"range": {"start": at, "end": at}, "text": "\r\n# \u2028 no line end, nor \x0c\r\n"})
    assert client.diagnostics(uri)[0]["range"]["start"] == {"line": 11, "character": 4}
    client.replace(uri, EMOJI)
    assert client.diagnostics(uri) == first
    assert client.stop() == 0


def test_an_edit_updates_the_documents_that_see_it(start: Start, folder: Path) -> None:
    client = start()
    client.initialize(folder)
    states, train = (folder / "app/states.py").as_uri(), (folder / "app/train.py").as_uri()
    client.open(states, FILES["app/states.py"])
    client.open(train, FILES["app/train.py"])
    assert codes(client.diagnostics(train)) == ["JAX401", "JAX403", "JAX402"]
    client.diagnostics(states)
    client.replace(states, FILES["app/states.py"].replace("@struct.dataclass", "@struct.dataclass(frozen=False)"))
    client.until(lambda: codes(client.diagnostics(train)) == ["JAX403", "JAX402", "JAX002"])
    client.replace(states, FILES["app/states.py"].replace("    step: int", "    stop: int"))
    client.until(lambda: codes(client.diagnostics(train)) == ["JAX401", "JAX402"])
    # what other modules cannot see: nothing is said of them
    before = len([p for p in client.said("textDocument/publishDiagnostics") if p["uri"] == train])
    client.replace(states, FILES["app/states.py"].replace("    step: int", "    stop: int") + "\n# a comment\n")
    client.diagnostics(states)
    time.sleep(1)
    assert len([p for p in client.said("textDocument/publishDiagnostics") if p["uri"] == train]) == before
    # the buffer is closed without being saved: what is on disk counts
    client.close(states)
    client.until(lambda: codes(client.diagnostics(train)) == ["JAX401", "JAX403", "JAX402"])
    assert client.stop() == 0


def test_pulling(start: Start, folder: Path) -> None:
    client = start()
    able = client.initialize(folder, capabilities=PULL)["capabilities"]["diagnosticProvider"]
    assert able == {"identifier": "jaxlint", "interFileDependencies": True, "workspaceDiagnostics": False}
    states, train = (folder / "app/states.py").as_uri(), (folder / "app/train.py").as_uri()
    client.open(train, FILES["app/train.py"])
    client.open(states, FILES["app/states.py"])
    report = client.pull(train)
    assert (report["kind"], codes(report["items"])) == ("full", ["JAX401", "JAX403", "JAX402"])
    assert client.pull(train, report["resultId"]) == {"kind": "unchanged", "resultId": report["resultId"]}
    client.pull(states)
    client.replace(states, FILES["app/states.py"].replace("@struct.dataclass", "@struct.dataclass(frozen=False)"))
    client.pull(states)
    client.until(lambda: "workspace/diagnostic/refresh" in [r["method"] for r in client.requests])
    assert codes(client.pull(train, report["resultId"])["items"]) == ["JAX403", "JAX402", "JAX002"]
    assert client.said("textDocument/publishDiagnostics") == []
    assert client.stop() == 0


def test_pulling_the_workspace(start: Start, folder: Path) -> None:
    client = start()
    able = client.initialize(folder, capabilities=PULL, options={"workspaceDiagnostics": True})["capabilities"]
    assert able["diagnosticProvider"]["workspaceDiagnostics"] is True
    client.open((folder / "app/states.py").as_uri(), FILES["app/states.py"])
    items = client.ask("workspace/diagnostic", {"previousResultIds": []})["items"]
    found = {item["uri"].rpartition("/")[2]: codes(item["items"]) for item in items}
    assert found == {
        "__init__.py": [],
        "derived.py": ["JAX101"],
        "run.py": ["JAX201", "JAX401", "JAX401"],
        "train.py": ["JAX401", "JAX403", "JAX402"],
    }
    known = [{"uri": item["uri"], "value": item["resultId"]} for item in items]
    again = client.ask("workspace/diagnostic", {"previousResultIds": known})["items"]
    assert {item["kind"] for item in again} == {"unchanged"}
    assert client.stop() == 0


def test_several_folders_files_outside_of_them_and_untitled_ones(start: Start, tmp_path: Path) -> None:
    client = start()
    one, other, outside = tmp_path / "one", tmp_path / "other", tmp_path / "outside"
    for place_ in (one, other, outside):
        write(place_)
    (one / "pyproject.toml").write_text('[tool.jaxlint]\nselect = ["JAX401"]\n')
    (other / "pyproject.toml").write_text('[tool.jaxlint]\nselect = ["JAX402"]\n')
    (outside / "pyproject.toml").write_text('[tool.jaxlint]\nselect = ["JAX403"]\nexclude = ["scripts"]\n')
    client.initialize(one, other)
    for project, code in ((one, "JAX401"), (other, "JAX402"), (outside, "JAX403")):
        uri = (project / "app/train.py").as_uri()
        client.open(uri, FILES["app/train.py"])
        assert codes(client.diagnostics(uri)) == [code]
    excluded = (outside / "scripts/run.py").as_uri()
    client.open(excluded, FILES["scripts/run.py"])
    assert client.diagnostics(excluded) == []
    # an untitled document is checked as if it was saved in the first folder
    client.open("untitled:Untitled-1", FILES["app/train.py"])
    assert codes(client.diagnostics("untitled:Untitled-1")) == ["JAX401"]
    change = {"added": [], "removed": [{"uri": other.as_uri(), "name": "other"}]}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": change})
    client.open("git:/somewhere/else.py", FILES["app/train.py"])
    client.open((one / "new.py").as_uri(), "from app.states import State\n\ndef f(s: State):\n    s.step = 1\n")
    assert codes(client.diagnostics((one / "new.py").as_uri())) == ["JAX401"]
    assert "git:/somewhere/else.py" not in [p["uri"] for p in client.said("textDocument/publishDiagnostics")]
    assert client.stop() == 0


def test_the_configuration_is_read_again(start: Start, folder: Path) -> None:
    client = start()
    client.initialize(folder)
    registered = client.until(lambda: [r for r in client.requests if r["method"] == "client/registerCapability"])
    watchers = registered[0]["params"]["registrations"][0]["registerOptions"]["watchers"]
    assert {w["globPattern"] for w in watchers} >= {"**/pyproject.toml", "**/jaxlint.toml", "**/*.py"}
    uri = (folder / "app/train.py").as_uri()
    client.open(uri, FILES["app/train.py"])
    assert codes(client.diagnostics(uri)) == ["JAX401", "JAX403", "JAX402"]
    config = folder / "pyproject.toml"

    def save(text: str) -> None:
        config.write_text(text)
        change = {"uri": config.as_uri(), "type": 2}
        client.notify("workspace/didChangeWatchedFiles", {"changes": [change]})

    save('[tool.jaxlint]\nignore = ["JAX401"]\n')
    client.until(lambda: codes(client.diagnostics(uri)) == ["JAX403", "JAX402"], 20)
    save('[tool.jaxlint]\nignore = ["JAX4"\n')
    shown = client.until(lambda: client.said("window/showMessage"))
    assert "pyproject.toml:2:17: broken TOML" in shown[0]["message"]
    client.replace(uri, FILES["app/train.py"] + "\n")
    assert codes(client.diagnostics(uri)) == ["JAX403", "JAX402"]
    save("")
    client.until(lambda: codes(client.diagnostics(uri)) == ["JAX401", "JAX403", "JAX402"], 20)
    # the editor's own settings count like options of the command line
    settings = {"jaxlint": {"settings": {"select": ["JAX402"]}}}
    client.notify("workspace/didChangeConfiguration", {"settings": settings})
    client.until(lambda: codes(client.diagnostics(uri)) == ["JAX402"], 20)
    client.notify("workspace/didChangeConfiguration", {"settings": {"jaxlint": {"inlayHints": "yes"}}})
    client.until(lambda: any("inlayHints" in m["message"] for m in client.said("window/showMessage")))
    assert client.stop() == 0


def test_files_that_change_on_disk(start: Start, folder: Path) -> None:
    client = start()
    client.initialize(folder)
    uri, states = (folder / "app/train.py").as_uri(), folder / "app/states.py"
    client.open(uri, FILES["app/train.py"])
    assert codes(client.diagnostics(uri)) == ["JAX401", "JAX403", "JAX402"]
    states.write_text(FILES["app/states.py"].replace("@struct.dataclass", "@struct.dataclass(frozen=False)"))
    changes = [{"uri": states.as_uri(), "type": 2}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    client.until(lambda: codes(client.diagnostics(uri)) == ["JAX403", "JAX402", "JAX002"], 20)
    states.unlink()
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    now = [f.code for f in check_paths([str(folder)]).findings if f.path == str(folder / "app/train.py")]
    assert now != ["JAX403", "JAX402", "JAX002"]
    client.until(lambda: codes(client.diagnostics(uri)) == now, 20)
    assert client.stop() == 0


def test_what_is_not_python(start: Start, tmp_path: Path) -> None:
    client = start()
    client.initialize(tmp_path)
    broken, nulls = (tmp_path / "broken.py").as_uri(), (tmp_path / "nulls.py").as_uri()
    client.open(broken, "x = 1\ndef f(:\n")
    assert [(d["code"], d["range"]["start"]["line"]) for d in client.diagnostics(broken)] == [("JAX001", 1)]
    client.open(nulls, "x = 1\n\0")
    assert [(d["code"], d["range"]["start"]) for d in client.diagnostics(nulls)] == [
        ("JAX001", {"line": 1, "character": 0})
    ]
    assert client.stop() == 0
