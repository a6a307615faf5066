"""Servers for tests, which end with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import forked
from tests.editor.conftest import folder
from tests.lsp.client import Client

__all__ = ["folder"]


def forked_server(folder: Path) -> forked.Forked:
    """A new server, in a folder."""
    return forked.start("jaxlint", ("server",), folder)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Client]]:
    """Starts servers. None of them writes to the standard error."""
    clients: list[Client] = []

    def start() -> Client:
        clients.append(Client(tmp_path, start=forked_server if os.name == "posix" else None))
        return clients[-1]

    yield start
    for client in clients:
        client.end()
    assert [client.errors for client in clients] == [b""] * len(clients)
