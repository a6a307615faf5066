"""A client of the language server over stdio: a process, framed JSON, and a thread that reads."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.forked import Forked
from tests.patience import PATIENCE

SERVER = (sys.executable, "-m", "jaxlint", "server")
#: What clients such as VS Code say of themselves, as far as the server looks at it.
PUSH: Mapping[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"showDocument": {"support": True}},
    "workspace": {
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "configuration": True,
        "workspaceFolders": True,
        "workspaceEdit": {"documentChanges": True},
        "inlayHint": {"refreshSupport": True},
        "codeLens": {"refreshSupport": True},
    },
    "textDocument": {"publishDiagnostics": {"versionSupport": True, "codeDescriptionSupport": True}},
}
PULL: Mapping[str, Any] = {
    **PUSH,
    "workspace": {**PUSH["workspace"], "diagnostics": {"refreshSupport": True}},
    "textDocument": {**PUSH["textDocument"], "diagnostic": {"dynamicRegistration": False}},
}


class Failed(Exception):
    """The answer to a request is an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error.get("data")


class Client:
    """A running server and what it has said."""

    def __init__(
        self, cwd: Path, command: Sequence[str] = SERVER, start: Callable[[Path], Forked] | None = None
    ) -> None:
        """Run a command in a folder, or `start` a server there."""
        pipe = subprocess.PIPE
        self.process: subprocess.Popen[bytes] | Forked
        if start is None:
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd)
        else:
            self.process = start(cwd)
        self.notes: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.errors = b""
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._id = 0
        self._versions: dict[str, int] = {}
        self._news = threading.Condition()
        self._has_ended = False
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    # -- messages ---------------------------------------------------------------------------

    def send_bytes(self, data: bytes) -> None:
        """Write bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: object) -> None:
        """Send a message."""
        body = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def notify(self, method: str, params: object) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start(self, method: str, params: object) -> int:
        """Send a request; `wait` gives its answer."""
        self._id += 1
        self._answers[self._id] = queue.Queue()
        self.send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return self._id

    def wait(self, number: int, patience: float = PATIENCE) -> Any:
        """The result of a request. Raises `Failed`."""
        self.until(lambda: not self._answers[number].empty() or self._has_ended, patience)
        answer = self._answers[number].get(timeout=1)
        del self._answers[number]
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["result"]

    def ask(self, method: str, params: object, patience: float = PATIENCE) -> Any:
        """The result of a new request. Raises `Failed`."""
        return self.wait(self.start(method, params), patience)

    def until(self, holds: Callable[[], Any], patience: float = PATIENCE) -> Any:
        """The first true value of `holds`, which is asked whenever a message comes."""
        end = time.monotonic() + patience
        with self._news:
            while True:
                value = holds()
                if value:
                    return value
                left = end - time.monotonic()
                if self._has_ended or left <= 0 or not self._news.wait(left):
                    raise AssertionError(f"nothing came; last: {self.notes[-5:]}; {self.errors!r}")

    def said(self, method: str) -> list[dict[str, Any]]:
        """The parameters of all notifications of a kind."""
        return [note["params"] for note in list(self.notes) if note["method"] == method]

    def _read(self) -> None:
        stdout = self.process.stdout
        assert stdout is not None
        while True:
            length = 0
            while (line := stdout.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not line:
                with self._news:
                    self._has_ended = True
                    self._news.notify_all()
                return
            message = json.loads(stdout.read(length))
            with self._news:
                self._take(message)
                self._news.notify_all()

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            if message["id"] in self._answers:
                self._answers[message["id"]].put(message)
        elif "id" in message:
            self.requests.append(message)
            result: Any = [None] if message["method"] == "workspace/configuration" else None
            if message["method"] == "window/showDocument":
                result = {"success": True}
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        else:
            self.notes.append(message)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while data := self.process.stderr.read1():  # type: ignore[attr-defined]
            self.errors += data

    # -- a session --------------------------------------------------------------------------

    def initialize(
        self,
        *folders: Path,
        capabilities: Mapping[str, Any] = PUSH,
        options: object = None,
        process_id: int | None = None,
    ) -> dict[str, Any]:
        """Shake hands; the answer is what the server can do."""
        params = {
            "processId": process_id,
            "rootUri": None,
            "capabilities": capabilities,
            "initializationOptions": options,
            "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name} for folder in folders],
        }
        result: dict[str, Any] = self.ask("initialize", params)
        self.notify("initialized", {})
        return result

    def open(self, uri: str, text: str) -> None:
        """Open a document."""
        self._versions[uri] = 1
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, *changes: dict[str, Any]) -> int:
        """Change a document; the answer is its version."""
        self._versions[uri] += 1
        document = {"uri": uri, "version": self._versions[uri]}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})
        return self._versions[uri]

    def replace(self, uri: str, text: str) -> int:
        """Give a document another text; the answer is its version."""
        return self.change(uri, {"text": text})

    def close(self, uri: str) -> None:
        """Close a document."""
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def diagnostics(self, uri: str, version: int | None = None) -> list[dict[str, Any]]:
        """What the server publishes for a version of a document (the newest, if none is given)."""
        wanted = self._versions[uri] if version is None else version

        def published() -> list[dict[str, Any]] | None:
            found = [p for p in self.said("textDocument/publishDiagnostics") if p["uri"] == uri]
            return found if found and found[-1].get("version") == wanted else None

        found: list[dict[str, Any]] = self.until(published)[-1]["diagnostics"]
        return found

    def pull(self, uri: str, previous: str | None = None) -> dict[str, Any]:
        """The report that the server gives for a document."""
        params: dict[str, Any] = {"textDocument": {"uri": uri}}
        if previous is not None:
            params["previousResultId"] = previous
        for _ in range(20):
            try:
                report: dict[str, Any] = self.ask("textDocument/diagnostic", params)
            except Failed as error:
                assert (error.code, error.data) == (-32802, {"retriggerRequest": True})
                continue
            return report
        raise AssertionError("every pull was cancelled")

    def stop(self) -> int:
        """Say good-bye as a client does."""
        self.ask("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(timeout=PATIENCE)

    def end(self) -> None:
        """Leave nothing behind."""
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(timeout=5)
