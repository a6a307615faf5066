"""The documents that the client has opened, stored exactly as it sees them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path, uri_scheme

from jaxlint.syntax.source import Source
from jaxlint_lsp.positions import Positions


@dataclass
class Document:
    """One document: `path` is that of the file, or the one that an untitled document would get."""

    uri: str
    path: str
    version: int | None
    text: str

    @property
    def source(self) -> Source:
        """The text with its lines."""
        return Source(self.path, b"", self.text, "utf-8", False)

    def apply(self, changes: Sequence[types.TextDocumentContentChangeEvent], encoding: str) -> None:
        """Change the text, one change after the other."""
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                positions = Positions(self.source, encoding)
                start, end = sorted((positions.offset(change.range.start), positions.offset(change.range.end)))
                self.text = self.text[:start] + change.text + self.text[end:]
            else:
                self.text = change.text


class Documents:
    """The open documents, by URI. What is neither a file nor untitled is none of ours."""

    def __init__(self) -> None:
        self.folders: list[str] = []
        self._open: dict[str, Document] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter(list(self._open.values()))

    def get(self, uri: str) -> Document | None:
        """The open document with a URI."""
        return self._open.get(uri)

    def at(self, path: str) -> Document | None:
        """The open document with a path."""
        return next((document for document in self._open.values() if document.path == path), None)

    def open(self, item: types.TextDocumentItem) -> Document | None:
        """Take a document that the client opens."""
        path = self._path(item.uri)
        if path is None or item.language_id not in ("python", ""):
            return None
        self._open[item.uri] = document = Document(item.uri, path, item.version, item.text)
        return document

    def close(self, uri: str) -> Document | None:
        """Drop a document that the client closes."""
        return self._open.pop(uri, None)

    def uri(self, path: str) -> str:
        """The URI of a path, as the client writes it."""
        document = self.at(path)
        return document.uri if document is not None else from_fs_path(path) or path

    def _path(self, uri: str) -> str | None:
        scheme = uri_scheme(uri)
        if scheme == "untitled":
            name = os.path.basename(uri.partition(":")[2]) or "untitled"
            stem = name if name.endswith((".py", ".pyi")) else f"{name}.py"
            return os.path.join(self.folders[0] if self.folders else os.getcwd(), stem)
        return file_path(uri)


def file_path(uri: str) -> str | None:
    """The absolute path of the file with a URI; None if it is not on this disk."""
    path = to_fs_path(uri) if uri_scheme(uri) == "file" else None
    return os.path.abspath(path) if path else None
