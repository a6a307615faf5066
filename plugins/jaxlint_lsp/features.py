"""The requests and notifications that the server takes part in."""

from __future__ import annotations

from functools import partial
from typing import Any

from lsprotocol import types

from jaxlint.editor.workspace import Workspace
from jaxlint.finding import Finding
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.source import Unreadable
from jaxlint_lsp.actions import FIX_ALL, OPEN_RULE, Actions, rule_url
from jaxlint_lsp.diagnostics import diagnostic, result_id
from jaxlint_lsp.documents import Document
from jaxlint_lsp.hints import SHOW_TREE, code_lenses, inlay_hints
from jaxlint_lsp.hovers import Hovers
from jaxlint_lsp.lifetime import end_with
from jaxlint_lsp.positions import Positions
from jaxlint_lsp.server import WATCHED, Server, Superseded
from jaxlint_lsp.worker import Stale


def register(server: Server) -> None:
    """Make the server take part in all of them."""
    _register_lifetime(server)
    _register_documents(server)
    _register_diagnostics(server)
    _register_actions(server)
    _register_views(server)


def _register_lifetime(server: Server) -> None:
    @server.feature(types.INITIALIZE)
    async def initialize(params: types.InitializeParams) -> None:
        if params.process_id is not None:
            end_with(params.process_id)
        server.set_options(params.initialization_options)
        if server.options.workspace_diagnostics:
            _register_pulling_all(server)
        uris = [folder.uri for folder in params.workspace_folders or ()]
        if not uris and server.workspace.root_uri is not None:
            uris = [server.workspace.root_uri]
        await server.set_folders(uris)

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        if server.capability("workspace", "did_change_watched_files", "dynamic_registration"):
            watchers = [types.FileSystemWatcher(pattern) for pattern in WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration("jaxlint-watch", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            server.client_register_capability(types.RegistrationParams([registration]))

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        value = params.settings
        if value is None and server.capability("workspace", "configuration"):
            items = [types.ConfigurationItem(section="jaxlint")]
            (value,) = await server.workspace_configuration_async(types.ConfigurationParams(items))
        server.set_options(value)
        server.refresh_soon(reads_config=True)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        server.refresh_soon(reads_config=any(change.uri.endswith(".toml") for change in params.changes))

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def did_change_workspace_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        await server.set_folders([folder.uri for folder in server.workspace.folders.values()])
        server.settle_soon()


def _register_documents(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def did_open(params: types.DidOpenTextDocumentParams) -> None:
        document = server.documents.open(params.text_document)
        if document is not None:
            server.set_text(document.path, document.text)
            server.check_soon(document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def did_change(params: types.DidChangeTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document is not None:
            document.apply(params.content_changes, server.encoding)
            document.version = params.text_document.version
            server.set_text(document.path, document.text)
            server.check_soon(document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def did_save(params: types.DidSaveTextDocumentParams) -> None:
        server.refresh_soon(reads_config=params.text_document.uri.endswith(".toml"))

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def did_close(params: types.DidCloseTextDocumentParams) -> None:
        document = server.documents.close(params.text_document.uri)
        if document is not None:
            server.set_text(document.path, None)
            server.said.pop(document.uri, None)
            if not server.pulls:
                server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, []))
            server.settle_soon()


def _register_diagnostics(server: Server) -> None:
    options = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier="jaxlint")

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def pull(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        uri = params.text_document.uri
        try:
            at_once = await server.glance(uri)  # what is missing in it is looked for once nothing changes
            found = await server.check(uri) if at_once is None else at_once
        except Stale as error:
            raise Superseded from error
        server.said[uri] = identity = result_id(found)
        server.settle_soon()
        if params.previous_result_id == identity:
            return types.RelatedUnchangedDocumentDiagnosticReport(identity)
        return types.RelatedFullDocumentDiagnosticReport(found, result_id=identity)


def _register_pulling_all(server: Server) -> None:
    @server.feature(types.WORKSPACE_DIAGNOSTIC)
    async def pull_all(params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
        known = {one.uri: one.value for one in params.previous_result_ids}
        paths: list[str] = await server.ask(Workspace.files, [])
        reports: list[Any] = []
        for path in paths:
            uri = server.documents.uri(path)
            document = server.documents.get(uri)
            if document is None:
                found = await _closed(server, path)
                identity = result_id(found)
                if known.get(uri) == identity:
                    reports.append(types.WorkspaceUnchangedDocumentDiagnosticReport(uri, identity))
                else:
                    reports.append(types.WorkspaceFullDocumentDiagnosticReport(uri, found, result_id=identity))
        return types.WorkspaceDiagnosticReport(reports)


async def _closed(server: Server, path: str) -> list[types.Diagnostic]:
    """The diagnostics of a file that is not open."""

    def job(workspace: Workspace) -> list[types.Diagnostic]:
        found = workspace.findings(path)
        try:
            positions = Positions(workspace.source(path), server.encoding)
        except Unreadable:
            return []
        return [diagnostic(finding, positions) for finding in found]

    return await server.ask(job, [])


def _register_actions(server: Server) -> None:
    kinds: list[types.CodeActionKind | str] = [types.CodeActionKind.QuickFix, FIX_ALL]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        def job(workspace: Workspace, document: Document, positions: Positions) -> list[types.CodeAction]:
            found: list[Finding] = workspace.findings(document.path, is_complete=False)
            versioned = bool(server.capability("workspace", "workspace_edit", "document_changes"))
            rows = partial(workspace.statement_rows, document.path)
            actions = Actions(document, found, positions, rows, versioned=versioned)
            return actions.at(params.range, params.context.only)

        return await server.ask_about(params.text_document.uri, job, [])

    @server.command(OPEN_RULE)
    async def open_rule(code: str) -> str | None:
        url = rule_url(code)
        if url is not None and server.capability("window", "show_document", "support"):
            await server.window_show_document_async(types.ShowDocumentParams(url, external=True))
        elif url is not None:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, url))
        return url

    @server.command(SHOW_TREE)
    async def show_tree(uri: str, line: int) -> str | None:
        def job(workspace: Workspace, document: Document, positions: Positions) -> str | None:
            cls = _nearest(workspace.classes(document.path), line + 1)
            return None if cls is None else workspace.draw(cls)

        drawing = await server.ask_about(uri, job, None)
        if drawing is not None and server.options.tree_in_message:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, drawing))
        return drawing


def _nearest(classes: list[PytreeClass], row: int) -> PytreeClass | None:
    """The innermost class around a row, else the last before it, else the first."""
    around = [c for c in classes if c.symbol.declaration.at.row <= row <= c.symbol.declaration.at.end_row]
    before = [c for c in classes if c.symbol.declaration.at.row <= row]
    return next(iter([*around[::-1], *before[::-1], *classes]), None)


def _register_views(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        def job(workspace: Workspace, document: Document, positions: Positions) -> types.Hover | None:
            return Hovers(workspace, document.path, positions).at(*positions.place(params.position))

        return await server.ask_about(params.text_document.uri, job, None)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        def job(workspace: Workspace, document: Document, positions: Positions) -> list[types.InlayHint]:
            return list(inlay_hints(workspace.classes(document.path), positions, params.range))

        return await server.ask_about(params.text_document.uri, job, []) if server.options.inlay_hints else []

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        def job(workspace: Workspace, document: Document, positions: Positions) -> list[types.CodeLens]:
            return list(code_lenses(document.uri, workspace.classes(document.path), positions))

        return await server.ask_about(params.text_document.uri, job, []) if server.options.code_lens else []
