"""The protocol of pygls, with documents of our own, answers to malformed requests, and no growth.

What of pygls is used here without being a part of what pygls offers is in this file alone.
`tests/lsp/test_internals.py` names the versions that were tried, and sees that no other module reaches for it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

Steps = Generator[Any, Any, None]

#: The versions of pygls with which the tests of the server have passed.
TRIED = ("2.1.1",)


def was_shut_down(protocol: LanguageServerProtocol) -> bool:
    """Whether the client said good-bye."""
    return bool(protocol._shutdown)


class Protocol(LanguageServerProtocol):
    """Hands the synchronisation of documents over as it is: pygls splits lines where the protocol does not."""

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Steps:
        """Hand it over."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Steps:
        """Hand it over."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Steps:
        """Hand it over."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None

    def _execute_handler(self, msg_id: Any, *args: Any, **kwargs: Any) -> None:
        """Forget what was started once it is done: pygls keeps the futures of notifications for ever."""
        super()._execute_handler(msg_id, *args, **kwargs)
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.add_done_callback(lambda _: self._request_futures.pop(msg_id, None))

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Answer a request that cannot be read: its sender waits."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "method" in data and isinstance(data.get("id"), (int, str)):
                self._send_response(data["id"], None, error.to_response_error())
            raise
