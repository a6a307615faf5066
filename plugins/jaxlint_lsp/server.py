"""The server: what it answers, and when it looks at documents by itself."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from jaxlint import __version__
from jaxlint.cache.store import Cache, project_cache
from jaxlint.config.configuration import Configuration
from jaxlint.editor.workspace import Workspace
from jaxlint.errors import UserError
from jaxlint.rules.unreadable_file import UnreadableFile
from jaxlint.syntax.source import Unreadable
from jaxlint_lsp.diagnostics import diagnostic, result_id
from jaxlint_lsp.documents import Document, Documents, file_path
from jaxlint_lsp.options import Options, read_options
from jaxlint_lsp.positions import Positions
from jaxlint_lsp.protocol import Protocol, was_shut_down
from jaxlint_lsp.worker import Stale, Urgency, Worker

if TYPE_CHECKING:
    from pygls.server import ServerErrors

T = TypeVar("T")

#: How long nothing may change before other documents than the edited one are looked at.
_SETTLED_SECONDS = 0.2
_LEAST_DELAY, _MOST_DELAY = 0.005, 0.25
#: A check that took longer lets what can be said at once go first.
_AT_ONCE_SECONDS = 0.04
_SERVER_CANCELLED = -32802
WATCHED = ("**/*.py", "**/*.pyi", "**/pyproject.toml", "**/jaxlint.toml", "**/.gitignore")


class Superseded(JsonRpcException):
    """The document has changed while it was looked at: the client is to ask again."""

    def __init__(self) -> None:
        super().__init__("the document has changed", _SERVER_CANCELLED, types.DiagnosticServerCancellationData(True))


class Server(LanguageServer):
    """One client's server. All handlers run on the event loop, all work on the workspace in the worker's thread."""

    def __init__(self) -> None:
        super().__init__("jaxlint", __version__, protocol_cls=Protocol)
        self.documents = Documents()
        self.options = Options()
        self.worker = Worker()
        #: What `publishDiagnostics` or an answer last said of a document, by URI.
        self.said: dict[str, str] = {}
        self._workspace = Workspace((), self._configure, cache=_cache, step=self.worker.step)
        self._texts: dict[str, str | None] = {}
        self._lock = threading.Lock()
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._settling: asyncio.Task[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        #: How long the last check took of a text that could be parsed.
        self._seconds = 0.0
        self._shown: set[str] = set()

    # -- the client -------------------------------------------------------------------------

    def capability(self, *path: str) -> Any:
        """What the client says of itself; None if it says nothing."""
        value: Any = self.client_capabilities
        for name in path:
            value = getattr(value, name, None)
        return value

    @property
    def encoding(self) -> str:
        """How the client counts columns."""
        return str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding) or "utf-16")

    @property
    def pulls(self) -> bool:
        """Whether the client asks for diagnostics itself."""
        return self.capability("text_document", "diagnostic") is not None

    @property
    def was_shut_down(self) -> bool:
        """Whether the client said good-bye."""
        return was_shut_down(self.protocol)

    def log(self, message: str, kind: types.MessageType = types.MessageType.Error) -> None:
        """Write a line to the client's log, each line once."""
        if message not in self._shown and len(self._shown) < 1000:
            self._shown.add(message)
            self.window_log_message(types.LogMessageParams(kind, message))

    def show(self, message: str) -> None:
        """Show a mistake of the user's, until the configuration is read again."""
        if message not in self._shown:
            self._shown.add(message)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"jaxlint: {message}"))

    def report_server_error(self, error: Exception, source: ServerErrors) -> None:
        """Tell of an error of our own, or of a message that cannot be read."""
        if not isinstance(error, Superseded):
            text = " ".join(str(error).split())[:300]
            self.log(f"jaxlint {__version__}: {type(error).__name__}: {text}")

    def set_options(self, value: object) -> None:
        """Take the settings of the client."""
        try:
            self.options = read_options(value)
        except msgspec.ValidationError as error:
            self.show(f"the settings of the editor cannot be used: {error}")

    # -- texts ------------------------------------------------------------------------------

    def set_text(self, path: str, text: str | None) -> None:
        """Note the text that the workspace gets before the next job; None once a document is closed."""
        with self._lock:
            self._texts[path] = text

    def _take_texts(self) -> None:
        with self._lock:
            texts, self._texts = self._texts, {}
        for path, text in texts.items():
            if text is None:
                self._workspace.drop_text(path)
            else:
                self._workspace.set_text(path, text)

    # -- work -------------------------------------------------------------------------------

    async def ask(
        self,
        job: Callable[[Workspace], T],
        default: T,
        urgency: Urgency = Urgency.REQUEST,
        is_stale: Callable[[], bool] = lambda: False,
    ) -> T:
        """What a job says of the workspace as it is now; `default` if that fails. Raises `Stale`."""

        def work() -> tuple[T, list[str]]:
            self._take_texts()
            return job(self._workspace), self._workspace.take_errors()

        try:
            result, errors = await self.worker.run(work, urgency, is_stale)
        except UserError as error:
            self.show(str(error))
            return default
        except (Stale, asyncio.CancelledError):
            raise
        except Exception as error:
            self.report_server_error(error, JsonRpcException)
            return default
        for line in errors:
            self.log(line)
        return result

    async def ask_about(
        self, uri: str, job: Callable[[Workspace, Document, Positions], T], default: T, **how: Any
    ) -> T:
        """What a job says of an open document as it is now."""
        document = self.documents.get(uri)
        if document is None:
            return default

        def work(workspace: Workspace) -> T:
            try:
                source = workspace.source(document.path)
            except Unreadable:
                source = document.source
            return job(workspace, document, Positions(source, self.encoding))

        return await self.ask(work, default, **how)

    # -- diagnostics ------------------------------------------------------------------------

    async def check(
        self, uri: str, *, urgency: Urgency = Urgency.CHECK, is_complete: bool = False
    ) -> list[types.Diagnostic]:
        """The diagnostics of an open document. Raises `Stale` if it changes meanwhile."""
        started = time.monotonic()

        def job(workspace: Workspace, document: Document, positions: Positions) -> list[types.Diagnostic]:
            refusal = workspace.refusal(document.path)
            if refusal is not None:
                raise UserError(f"{document.path}: {refusal}")
            found = workspace.findings(document.path, is_complete=is_complete)
            return [diagnostic(finding, positions) for finding in found]

        nothing: list[types.Diagnostic] = []
        found = await self._checked(uri, job, nothing, urgency)
        if urgency is Urgency.CHECK and not any(one.code == UnreadableFile.code for one in found):
            self._seconds = time.monotonic() - started
        return found

    async def glance(self, uri: str) -> list[types.Diagnostic] | None:
        """What can be said at once of an open document; None if a check takes no longer. Raises `Stale`."""

        def job(workspace: Workspace, document: Document, positions: Positions) -> list[types.Diagnostic] | None:
            found = workspace.glance(document.path)
            return None if found is None else [diagnostic(finding, positions) for finding in found]

        return None if self._seconds < _AT_ONCE_SECONDS else await self._checked(uri, job, None, Urgency.CHECK)

    async def _checked(
        self, uri: str, job: Callable[[Workspace, Document, Positions], T], default: T, urgency: Urgency
    ) -> T:
        """What a job says of an open document. Raises `Stale` if that changes meanwhile."""
        document = self.documents.get(uri)
        if document is None:
            return default
        version = document.version

        def is_stale() -> bool:
            return document.version != version or self.documents.get(uri) is not document

        said = await self.ask_about(uri, job, default, urgency=urgency, is_stale=is_stale)
        if is_stale():
            raise Stale
        return said

    def check_soon(self, uri: str) -> None:
        """Check a document once it stays as it is for a moment; then look what else has to be checked."""
        task = self._checks.pop(uri, None)
        if task is not None:
            task.cancel()
        self._checks[uri] = asyncio.ensure_future(self._check_later(uri))

    async def _check_later(self, uri: str) -> None:
        try:
            if not self.pulls:
                await asyncio.sleep(_LEAST_DELAY)
                at_once = await self.glance(uri)
                if at_once is not None:
                    self.publish(uri, at_once)
                await asyncio.sleep(min(max(self._seconds / 8 - _LEAST_DELAY, 0), _MOST_DELAY))
                found = await self.check(uri)
                if found != at_once:
                    self.publish(uri, found)
            self.settle_soon()
        except Stale:
            return
        finally:
            if self._checks.get(uri) is asyncio.current_task():
                del self._checks[uri]

    def publish(self, uri: str, diagnostics: Sequence[types.Diagnostic]) -> None:
        """Tell the client of diagnostics for the document as it is."""
        document = self.documents.get(uri)
        version = None if document is None else document.version
        self.said[uri] = result_id(list(diagnostics))
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, list(diagnostics), version))

    def settle_soon(self) -> None:
        """Bring the other open documents up to date once nothing has changed for a while."""
        if self._settling is not None:
            self._settling.cancel()
        self._settling = asyncio.ensure_future(self._settle())

    async def _settle(self) -> None:
        await asyncio.sleep(_SETTLED_SECONDS)
        stale = await self._retried(lambda workspace: workspace.dependents(""))
        changed = False
        for path in stale:
            document = self.documents.at(path)
            if document is None or (self.pulls and document.uri not in self.said):
                continue
            try:
                found = await self.check(document.uri, urgency=Urgency.BACKGROUND, is_complete=True)
            except Stale:
                self.settle_soon()
                return
            if self.said.get(document.uri) != result_id(found):
                if self.pulls:
                    changed = True
                else:
                    self.publish(document.uri, found)
        if changed and self.capability("workspace", "diagnostics", "refresh_support"):
            self.workspace_diagnostic_refresh(None)

    async def _retried(self, job: Callable[[Workspace], list[str]]) -> list[str]:
        """A list from a job that waits for all that is more urgent."""
        while True:
            try:
                return await self.ask(job, [], Urgency.BACKGROUND)
            except Stale:
                await asyncio.sleep(_SETTLED_SECONDS)

    # -- the disk ---------------------------------------------------------------------------

    def refresh_soon(self, *, reads_config: bool = False) -> None:
        """Look at the disk again, after a moment: changes come in swarms."""
        if self._refreshing is not None and not reads_config:
            self._refreshing.cancel()
        self._refreshing = asyncio.ensure_future(self._refresh(reads_config))

    async def _refresh(self, reads_config: bool) -> None:
        await asyncio.sleep(0.05)
        if reads_config:
            self._shown.clear()
        await self.ask(lambda workspace: workspace.reload() if reads_config else workspace.refresh(), None)
        self.settle_soon()
        if reads_config:
            if self.capability("workspace", "inlay_hint", "refresh_support"):
                self.workspace_inlay_hint_refresh(None)
            if self.capability("workspace", "code_lens", "refresh_support"):
                self.workspace_code_lens_refresh(None)

    async def set_folders(self, uris: Sequence[str]) -> None:
        """Show other folders."""
        self.documents.folders = [path for path in map(file_path, uris) if path is not None]
        folders = list(self.documents.folders)
        await self.ask(lambda workspace: workspace.set_folders(folders), None)

    def _configure(self) -> Configuration:
        options = self.options
        config = () if options.configuration is None else (os.path.expanduser(options.configuration),)
        return Configuration(config, options=options.settings, prefix="settings.")


def _cache(folder: str) -> Cache | None:
    return None if os.environ.get("JAXLINT_NO_CACHE") else project_cache(folder)
