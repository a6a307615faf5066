"""Packs: files that hold many small records, each under a key, and are written once.

A pack begins with a line that says what wrote it and ends with an index. Its records and its index have checksums: a
pack that is torn, of another writer or no pack at all holds nothing, and a damaged record is absent.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import IO

import msgspec

from jaxlint.cache.atomic import replacing
from jaxlint.cache.digests import DIGEST_SIZE, digest
from jaxlint.syntax.regular import open_regular

_MAGIC = b"jaxlint facts "
#: Behind the index: its digest, and where it begins.
_FOOTER = DIGEST_SIZE + 8

#: Where a pack is, and what writes it.
Place = tuple[str, str]

_Index = dict[bytes, tuple[int, int, bytes]]


class NoPack(Exception):
    """A file that is no pack of this writer; the message is a phrase that says why."""


class Pack:
    """The pack in the file `path`, written by the writer `writer`. Raises `NoPack`."""

    def __init__(self, path: str, writer: str) -> None:
        self.path = path
        head = _head(writer)
        try:
            self._file: IO[bytes] | None = open_regular(path)  # closed with the pack
        except (OSError, ValueError) as error:
            raise NoPack(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
        try:
            self.size = os.fstat(self._file.fileno()).st_size
            if self._at(0, len(_MAGIC)) != _MAGIC:
                raise NoPack("holds no facts of jaxlint")
            if self._at(0, len(head)) != head:
                raise NoPack("holds the facts of another jaxlint, or of another version of Python")
            footer = self._at(self.size - _FOOTER, _FOOTER)
            start = int.from_bytes(footer[DIGEST_SIZE:], "big")
            index = self._at(start, self.size - _FOOTER - start)
            if digest(index) != footer[:DIGEST_SIZE]:
                raise NoPack("is incomplete or damaged")
            self._index = msgspec.msgpack.decode(index, type=_Index)
        except (OSError, ValueError, OverflowError, MemoryError, msgspec.MsgspecError) as error:
            self.close()
            raise NoPack("is incomplete or damaged") from error
        except NoPack:
            self.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._index)

    def get(self, key: bytes) -> bytes | None:
        """The record under a key; None if there is none, or it is damaged."""
        entry = self._index.get(key)
        if entry is None:
            return None
        offset, length, checksum = entry
        try:
            record = self._at(offset, length)
        except (OSError, ValueError, OverflowError, MemoryError):
            return None
        return record if digest(record) == checksum else None

    def length(self, key: bytes) -> int:
        """How many bytes the record under a key has."""
        return self._index[key][1]

    def close(self) -> None:
        """Close the file; all records are absent from now on."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _at(self, offset: int, length: int) -> bytes:
        if self._file is None:
            raise ValueError("closed")
        if hasattr(os, "pread"):  # processes that were forked share one position in the file
            return os.pread(self._file.fileno(), length, offset)
        self._file.seek(offset)
        return self._file.read(length)


def open_packs(places: Iterable[Place]) -> list[Pack]:
    """Those of the packs that can be read."""
    packs = []
    for path, writer in places:
        with contextlib.suppress(NoPack):
            packs.append(Pack(path, writer))
    return packs


class PackWriter:
    """Writes a pack that appears in `path` when it is closed.

    A disk that is full, or a folder that cannot be written, ends it: `closed` is then false, `failure` says why, and
    nothing is left.
    """

    def __init__(self, path: str, writer: str) -> None:
        self.path = path
        self.closed = False
        self.failure = ""
        self._head = _head(writer)
        self._index: _Index = {}
        self._offset = 0
        self._stack = contextlib.ExitStack()
        self._file: IO[bytes] | None = None

    def open(self) -> None:
        """Begin the pack, which a first record does as well: then it appears even if there is none."""
        if self._file is not None or self.failure:
            return
        try:
            self._file = self._stack.enter_context(replacing(self.path))
            self._file.write(self._head)
            self._offset = len(self._head)
        except (OSError, ValueError) as error:
            self._abandon(error)

    def add(self, key: bytes, record: bytes) -> None:
        """Add a record; nothing if the pack cannot be written."""
        if key in self._index:
            return
        self.open()
        if self._file is None:
            return
        try:
            self._file.write(record)
        except (OSError, ValueError) as error:
            self._abandon(error)
            return
        self._index[key] = (self._offset, len(record), digest(record))
        self._offset += len(record)

    def get(self, key: bytes) -> bytes | None:
        """The record that was added under a key; None if there is none, or it cannot be read."""
        entry = self._index.get(key)
        if entry is None or self._file is None:
            return None
        offset, length, checksum = entry
        try:
            self._file.seek(offset)
            record = self._file.read(length)
            self._file.seek(0, os.SEEK_END)
        except (OSError, ValueError, MemoryError):
            return None
        return record if digest(record) == checksum else None

    def close(self) -> bool:
        """Finish the pack; whether there is one now."""
        if self._file is None:
            return self.closed
        try:
            index = msgspec.msgpack.encode(self._index)
            self._file.write(index + digest(index) + self._offset.to_bytes(8, "big"))
            self._stack.close()
            self.closed = True
        except (OSError, ValueError) as error:
            self._abandon(error)
        self._file = None
        return self.closed

    def discard(self) -> None:
        """Remove what was written, unless the pack is finished."""
        if self._file is not None:
            self._abandon(InterruptedError())

    def __enter__(self) -> PackWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._abandon(error)

    def _abandon(self, error: BaseException) -> None:
        """Remove what was written."""
        self.failure = getattr(error, "strerror", None) or str(error) or type(error).__name__
        self._file = None
        with contextlib.suppress(type(error)):
            self._stack.__exit__(type(error), error, error.__traceback__)


def _head(writer: str) -> bytes:
    return _MAGIC + writer.encode() + b"\n"
