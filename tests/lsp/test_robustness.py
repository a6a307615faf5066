"""What clients and users do to a server: it answers, does not grow, and never outlives its client."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jaxlint.cli.main import main
from tests.editor.projects import FILES
from tests.lsp.client import PULL, SERVER, Client, Failed
from tests.lsp.test_diagnostics import codes
from tests.patience import PATIENCE

Start = Callable[[], Client]
linux_only = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc")
CODES = ["JAX401", "JAX403", "JAX402"]


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


MALFORMED = {
    "no JSON": framed(b"{nonsense"),
    "no object": framed(b"[1, 2]"),
    "a string": framed(b'"text"'),
    "nothing": framed(b"null"),
    "another version": framed(b'{"jsonrpc": "1.0", "method": "x"}'),
    "no method": framed(b'{"jsonrpc": "2.0"}'),
    "a number as a method": framed(b'{"jsonrpc": "2.0", "method": 5}'),
    "an unknown notification": framed(b'{"jsonrpc": "2.0", "method": "some/thing", "params": {}}'),
    "an answer to no request": framed(b'{"jsonrpc": "2.0", "id": 77, "result": null}'),
    "no UTF-8": framed(b'{"jsonrpc": "2.0", "method": "\xff\xfe"}'),
    "deep nesting": framed(b"[" * 100_000),
    "an odd header": b"Content-Type: text\r\nWhat: ever\r\n\r\n",
    "wrong parameters": framed(b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": 3}}'),
    "a change of what is not open": framed(
        b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params":'
        b' {"textDocument": {"uri": "file:///x.py", "version": 1}, "contentChanges": [{"text": ""}]}}'
    ),
    "closing what is not open": framed(
        b'{"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": "nonsense"}}}'
    ),
    "opening what is no file": framed(
        b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument":'
        b' {"uri": "%%%", "languageId": "python", "version": 1, "text": ""}}}'
    ),
}


def test_malformed_messages(start: Start, folder: Path) -> None:
    client = start()
    client.initialize(folder)
    uri = (folder / "app/train.py").as_uri()
    client.open(uri, FILES["app/train.py"])
    for data in MALFORMED.values():
        client.send_bytes(data)
    for method, params, code in (
        ("textDocument/hover", {"position": "here"}, -32602),
        ("no/such/method", {}, -32601),
        ("workspace/executeCommand", {"command": "no.such"}, -32602),
        ("workspace/executeCommand", {"command": "jaxlint.tree", "arguments": []}, -32602),
    ):
        with pytest.raises(Failed) as failed:
            client.ask(method, params)
        assert failed.value.code == code
    assert codes(client.diagnostics(uri)) == CODES
    logged = [note["message"] for note in client.said("window/logMessage")]
    assert logged and len(set(logged)) == len(logged) and not any("Traceback" in line for line in logged)
    assert client.said("window/showMessage") == []
    assert client.stop() == 0


FAILING = """
import jaxlint.rules.frozen_assignment as module
from jaxlint.cli.main import main

def check(self, event, evaluator):
    raise ZeroDivisionError("on purpose")

module.FrozenAssignment.check_event = check
main(["server"])
"""


def test_a_rule_that_fails_is_one_line_in_the_log(folder: Path) -> None:
    client = Client(folder, (sys.executable, "-c", FAILING))
    try:
        client.initialize(folder)
        uri = (folder / "app/train.py").as_uri()
        client.open(uri, FILES["app/train.py"])
        assert codes(client.diagnostics(uri)) == ["JAX403", "JAX402"]
        client.replace(uri, FILES["app/train.py"] + "\n")
        assert codes(client.diagnostics(uri)) == ["JAX403", "JAX402"]
        (line,) = [note["message"] for note in client.said("window/logMessage")]
        assert "JAX401 failed in jaxlint" in line and "ZeroDivisionError: on purpose" in line
        assert client.stop() == 0
    finally:
        client.end()
    assert client.errors == b""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_who_starts_it_in_a_terminal_is_told(tmp_path: Path) -> None:
    """It would wait without a word otherwise."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(SERVER, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    try:
        assert process.stderr is not None
        assert select.select([process.stderr], [], [], PATIENCE)[0]
        assert b"this waits for an editor" in process.stderr.readline()
        process.send_signal(signal.SIGINT)  # Ctrl-C
        assert process.wait(timeout=PATIENCE) == -signal.SIGINT
        assert process.stderr.read() == b""
    finally:
        process.kill()
        process.communicate()
        os.close(ours)
        os.close(theirs)


def test_requests_about_what_is_not_open(start: Start, folder: Path) -> None:
    client = start()
    client.initialize(folder, capabilities=PULL)
    document = {"textDocument": {"uri": (folder / "none.py").as_uri()}}
    zero = {"line": 0, "character": 0}
    where = {"range": {"start": zero, "end": zero}}
    assert client.ask("textDocument/hover", {**document, "position": zero}) is None
    assert client.ask("textDocument/inlayHint", {**document, **where}) == []
    assert client.ask("textDocument/codeAction", {**document, **where, "context": {"diagnostics": []}}) == []
    assert client.ask("textDocument/diagnostic", document)["items"] == []
    assert client.stop() == 0


def test_a_huge_file_is_not_read_and_nothing_waits_for_it(start: Start, folder: Path) -> None:
    client = start()
    line = "x = [" + "1, " * 30 + "]\n"
    (folder / "app/data.py").write_text(line * (20_000_000 // len(line)))
    client.initialize(folder)
    train, huge = (folder / "app/train.py").as_uri(), (folder / "app/huge.py").as_uri()
    began = time.monotonic()
    client.open(huge, (folder / "app/data.py").read_text())
    client.open(train, "from app.data import x\n" + FILES["app/train.py"])
    assert codes(client.diagnostics(train)) == CODES
    assert client.diagnostics(huge) == []
    shown = client.said("window/showMessage")
    assert [("huge.py: is larger than 1,000,000 bytes" in s["message"]) for s in shown] == [True]
    for _ in range(3):
        client.change(
            huge, {"range": {"start": {"line": 5, "character": 0}, "end": {"line": 5, "character": 1}}, "text": "y"}
        )
    client.replace(huge, "x = 1  # noqa: JAX401\n")
    assert codes(client.diagnostics(huge)) == ["JAX002"]
    assert time.monotonic() - began < 200
    assert client.stop() == 0


def test_requests_are_answered_while_something_is_worked_out(start: Start, folder: Path) -> None:
    client = start()
    client.initialize(folder)
    text = FILES["app/train.py"] + "".join(
        f"def f{i}(state: State):\n    state.step = {i}\n    return state.replace(step=1)\n" for i in range(3000)
    )
    uri = (folder / "app/train.py").as_uri()
    client.open(uri, text)
    time.sleep(0.5)
    with pytest.raises(Failed):
        client.ask("no/such/method", {})
    assert not client.said("textDocument/publishDiagnostics")
    client.replace(uri, FILES["app/train.py"])  # what is being worked out is stale now
    assert codes(client.diagnostics(uri)) == CODES
    assert [p["version"] for p in client.said("textDocument/publishDiagnostics")] == [2]
    assert client.stop() == 0


def test_a_request_can_be_cancelled(start: Start, folder: Path) -> None:
    client = start()
    client.initialize(folder, capabilities=PULL)
    text = FILES["app/train.py"] + "".join(f"def f{i}(s: State):\n    s.step = {i}\n" for i in range(2000))
    uri = (folder / "app/train.py").as_uri()
    client.open(uri, text)
    numbers = [client.start("textDocument/diagnostic", {"textDocument": {"uri": uri}}) for _ in range(3)]
    for number in numbers:
        client.notify("$/cancelRequest", {"id": number})
    for number in numbers:
        with pytest.raises(Failed) as failed:
            client.wait(number)
        assert failed.value.code == -32800
    client.replace(uri, FILES["app/train.py"])
    assert codes(client.pull(uri)["items"]) == CODES
    assert client.stop() == 0


@linux_only
def test_opening_editing_and_closing_does_not_grow(start: Start, folder: Path) -> None:
    client = start()
    client.initialize(folder)
    uri = (folder / "app/train.py").as_uri()

    def session(number: int) -> None:
        client.open(uri, FILES["app/train.py"])
        for edit in range(10):
            client.replace(uri, FILES["app/train.py"] + f"# {number} {edit}\n")
        if number % 10 == 0:
            assert codes(client.diagnostics(uri)) == CODES
        client.close(uri)

    def memory() -> int:
        client.until(lambda: True)
        return int(Path(f"/proc/{client.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for number in range(40):
        session(number)
    before = memory()
    for number in range(150):
        session(number)
    client.open(uri, FILES["app/train.py"])
    assert codes(client.diagnostics(uri)) == CODES
    assert memory() - before < 12_000_000
    assert client.stop() == 0


def test_rapid_opening_and_closing_ends_with_nothing_said(start: Start, folder: Path) -> None:
    client = start()
    client.initialize(folder)
    uri = (folder / "app/train.py").as_uri()
    for _ in range(200):
        client.open(uri, FILES["app/train.py"])
        client.close(uri)
    client.open((folder / "app/states.py").as_uri(), FILES["app/states.py"])
    client.diagnostics((folder / "app/states.py").as_uri())
    time.sleep(0.5)
    assert [p for p in client.said("textDocument/publishDiagnostics") if p["uri"] == uri][-1]["diagnostics"] == []
    assert client.stop() == 0


# -- the end --------------------------------------------------------------------------------------


def ends(pid: int, seconds: float = PATIENCE) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if os.path.isdir("/proc/self") and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_exit_without_shutdown_is_an_error(start: Start, folder: Path) -> None:
    client = start()
    client.initialize(folder)
    client.notify("exit", None)
    assert client.process.wait(timeout=PATIENCE) == 1


def test_the_end_of_the_input_ends_the_server_even_while_it_works(start: Start, folder: Path) -> None:
    client = start()
    client.initialize(folder)
    text = "".join(f"def f{i}(x):\n    x.step = {i}\n" for i in range(5000))
    client.open((folder / "app/train.py").as_uri(), FILES["app/train.py"] + text)
    time.sleep(0.5)
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(timeout=PATIENCE) in (0, 1)


PARENT = """
import subprocess, sys, time, json
server = subprocess.Popen({server!r}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
body = json.dumps({{"jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {{"processId": {pid}, "rootUri": None, "capabilities": {{}}}}}}).encode()
server.stdin.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
server.stdin.flush()
print(server.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def parent() -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts clients that are killed."""
    started: list[subprocess.Popen[str]] = []

    def run(pid: str) -> subprocess.Popen[str]:
        code = PARENT.format(server=list(SERVER), pid=pid)
        started.append(subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.skipif(os.name != "posix", reason="kills with a signal")
def test_a_killed_client_leaves_no_orphan(parent: Callable[[str], subprocess.Popen[str]]) -> None:
    client = parent("None")
    assert client.stdout is not None
    server = int(client.stdout.readline())
    time.sleep(1)
    client.send_signal(signal.SIGKILL)
    client.wait()
    assert ends(server)


@pytest.mark.skipif(os.name != "posix", reason="watches a process")
def test_the_server_ends_with_the_process_that_the_client_names(start: Start, tmp_path: Path) -> None:
    editor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    client = start()
    client.initialize(tmp_path, process_id=editor.pid)
    time.sleep(0.5)
    assert client.process.poll() is None
    editor.kill()
    editor.wait()
    assert client.process.wait(timeout=PATIENCE) == 1


def test_the_command_without_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [name for name in sys.modules if name.startswith(("jaxlint_lsp", "pygls", "lsprotocol"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert main(["server"]) == 2
    captured = capsys.readouterr()
    message = 'jaxlint: error: the language server needs two more packages: pip install "jaxlint-pytree[lsp]"\n'
    assert (captured.out, captured.err) == ("", message)


def test_clients_may_ask_for_the_standard_streams(tmp_path: Path) -> None:
    client = Client(tmp_path, (*SERVER, "--stdio"))
    try:
        client.initialize(tmp_path)
        assert client.stop() == 0
    finally:
        client.end()


def test_other_commands_load_no_server() -> None:
    names = "('pygls', 'lsprotocol', 'jaxlint_lsp')"
    code = f"import sys, jaxlint.cli.main; print([m for m in sys.modules if m.startswith({names})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
