"""Servers for tests, which end with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lsp.client import Client
from tests.lsp.nursery import Nursery
from tests.lsp.projects import write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the sample project."""
    project = tmp_path / "project"
    write(project)
    return project


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery | None]:
    """Where servers are forked from, on systems that can."""
    made = Nursery() if os.name == "posix" else None
    yield made
    if made is not None:
        made.end()


@pytest.fixture
def start(tmp_path: Path, nursery: Nursery | None) -> Iterator[Callable[[], Client]]:
    """Starts servers. None of them writes to the standard error."""
    clients: list[Client] = []

    def start() -> Client:
        clients.append(Client(tmp_path, start=nursery.start if nursery else None))
        return clients[-1]

    yield start
    for client in clients:
        client.end()
    assert [client.errors for client in clients] == [b""] * len(clients)
