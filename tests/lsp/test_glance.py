"""Of a long file that is edited, what can be said at once is said before the check is complete, which corrects it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.editor import program
from jaxlint.editor.glance import Edit
from jaxlint.editor.workspace import Workspace
from jaxlint.finding import Confidence, Finding, Severity
from tests.lsp.client import PULL, Client

LINES = st.lists(st.sampled_from(["a", "b", "c"]), max_size=8)
#: Long enough that a check takes longer than the server waits for it.
TEXT = program(2000)
#: A field that is updated far away from its class.
FIELD = "    extra: int = 0\n"
FAR = "\n\ndef far(state: State0) -> State0:\n    return state.replace(extra=1)\n"
WITH_FIELD = TEXT.replace("    momentum: jax.Array\n", f"    momentum: jax.Array\n{FIELD}", 1) + FAR


def finding_in(row: int) -> Finding:
    place = (row, 1, row, 2)
    return Finding("/a.py", *place, "JAX401", "frozen-assignment", "m", Severity.ERROR, Confidence.HIGH)


@given(LINES, LINES)
def test_an_edit_is_what_differs(before: list[str], now: list[str]) -> None:
    edit = Edit.between(before, now)
    assert [*before[: edit.first - 1], *now[edit.first - 1 : edit.last], *before[edit.before :]] == now
    for row, line in enumerate(before, 1):
        moved = edit.moved(finding_in(row))
        assert (moved is None) == (edit.first <= row <= edit.before)
        assert moved is None or now[moved.row - 1] == line


def rows_of(findings: list[Finding] | None) -> list[tuple[str, int]]:
    assert findings is not None
    return [(finding.code, finding.row) for finding in findings]


def test_what_the_edited_function_shows_is_added_to_what_was_found(tmp_path: Path) -> None:
    """Whatever was found elsewhere stands where it stands now; what the edit mends elsewhere is still there."""
    path = tmp_path / "program.py"
    at = TEXT.index("    history = []", len(TEXT) // 2)
    row = TEXT.count("\n", 0, at) + 1
    last = TEXT.rindex("    history = []")
    broken = TEXT[:last] + "    state.step = 2\n" + TEXT[last:]
    path.write_text(broken)
    workspace = Workspace([str(tmp_path)])
    workspace.set_text(str(path), broken)
    assert workspace.glance(str(path)) is None  # nothing was said before
    ((code, elsewhere),) = rows_of(workspace.findings(str(path)))
    workspace.set_text(str(path), broken[:at] + "    state.step = 1\n" + broken[at:])
    assert sorted(rows_of(workspace.glance(str(path)))) == [("JAX401", row), (code, elsewhere + 1)]
    assert rows_of(workspace.findings(str(path))) == [("JAX401", row), (code, elsewhere + 1)]
    assert workspace.glance(str(path)) is None  # all is known
    workspace.set_text(str(path), broken[:at] + "    state.step(\n" + broken[at:])
    assert workspace.glance(str(path)) is None  # no Python
    assert rows_of(workspace.findings(str(path))) == [("JAX001", row)]
    workspace.set_text(str(path), broken)
    assert rows_of(workspace.glance(str(path))) == [(code, elsewhere)]
    workspace.set_text(str(path), broken[:last] + "    # nothing\n" * 60 + broken[last:])
    assert workspace.glance(str(path)) is None  # too much at once


def test_the_client_is_reported_at_once_and_then_the_rest(start: Callable[[], Client], tmp_path: Path) -> None:
    """A field that is removed is missed by a function far away from its class: only a complete check sees that."""
    client = start()
    client.initialize(tmp_path)
    uri = (tmp_path / "program.py").as_uri()
    client.open(uri, WITH_FIELD)
    assert client.diagnostics(uri) == []
    client.replace(uri, WITH_FIELD.replace(FIELD, "    extra: int =\n"))
    assert [d["code"] for d in client.diagnostics(uri)] == [
        "JAX001"
    ]  # which takes no time, and says nothing of the next
    version = client.replace(uri, WITH_FIELD.replace(FIELD, ""))

    def published() -> list[set[str]]:
        said = [p for p in client.said("textDocument/publishDiagnostics") if p["uri"] == uri]
        return [{str(d["code"]) for d in p["diagnostics"]} for p in said if p["version"] == version]

    client.until(lambda: len(published()) > 1)
    assert published() == [set(), {"JAX402"}]
    assert client.stop() == 0


def test_a_client_that_asks_is_reported_to_ask_again(start: Callable[[], Client], tmp_path: Path) -> None:
    client = start()
    refreshes = {**PULL, "workspace": {**PULL.get("workspace", {}), "diagnostics": {"refreshSupport": True}}}
    client.initialize(tmp_path, capabilities=refreshes)
    uri = (tmp_path / "program.py").as_uri()

    def pulled() -> set[str]:
        report = client.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        return {str(d["code"]) for d in report["items"]}

    client.open(uri, WITH_FIELD)
    assert pulled() == set()
    client.replace(uri, WITH_FIELD.replace(FIELD, ""))
    assert pulled() == set()
    client.until(lambda: [r for r in client.requests if r["method"] == "workspace/diagnostic/refresh"])
    assert pulled() == {"JAX402"}
    assert client.stop() == 0
