"""Servers for tests, which end with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lsp.client import Client
from tests.lsp.projects import write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the sample project."""
    project = tmp_path / "project"
    write(project)
    return project


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Client]]:
    """Starts servers. None of them writes to the standard error."""
    clients: list[Client] = []

    def start() -> Client:
        clients.append(Client(tmp_path))
        return clients[-1]

    yield start
    for client in clients:
        client.end()
    assert [client.errors for client in clients] == [b""] * len(clients)
