"""What is kept on disk between runs: outlines by content, and what the last run found.

The cache is a folder of small files, written to a temporary name and renamed, each with a checksum. A file that is
missing, torn, of another version or no cache file at all counts as absent; a folder that cannot be written
to is left alone. Nothing in it is executed: a cache that somebody else has written can at most be wrong, and its
checksums, which are no secret, keep accidents out, not attackers.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from functools import cached_property, lru_cache
from hashlib import blake2b

import msgspec

from jaxlint import __version__
from jaxlint.files import project_root
from jaxlint.finding import Finding
from jaxlint.outline import Outline

_DIGEST = 16
_FOLDER = ".jaxlint_cache"
_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# This folder holds a cache of jaxlint.\n"


class FileRecord(msgspec.Struct, frozen=True, array_like=True):
    """One file as a run saw it: its time and size, the digest of its content and of what others see of it."""

    mtime: int
    size: int
    content: bytes
    interface: bytes


class RunRecord(msgspec.Struct, array_like=True):
    """What a run saw and found. `findings` hold for files whose content is the same, as long as `state` is."""

    #: When it was written, in nanoseconds; files changed since shortly before are read again.
    written: int
    state: bytes
    files: dict[str, FileRecord]
    #: Modules outside of the project that were read, with time and size.
    others: dict[str, tuple[int, int]]
    findings: dict[str, tuple[bytes, list[Finding]]]


class Cache:
    """The cache in the folder `folder`."""

    def __init__(self, folder: str) -> None:
        version = "".join(map(str, sys.version_info[:2]))
        self.folder = os.path.join(folder, f"{__version__}-{version}-{_code_digest()}")
        self._root = folder
        self._outlines = msgspec.msgpack.Decoder(Outline)
        self._runs = msgspec.msgpack.Decoder(RunRecord)
        self._encoder = msgspec.msgpack.Encoder()

    # -- outlines ---------------------------------------------------------------------------

    def outline(self, content: bytes) -> Outline | None:
        """The outline of a file with this digest, if it is kept."""
        payload = self._read(self._outline_name(content))
        with contextlib.suppress(msgspec.MsgspecError, RecursionError):
            return None if payload is None else self._outlines.decode(payload)
        return None

    def keep_outline(self, content: bytes, outline: Outline) -> None:
        """Keep an outline."""
        with contextlib.suppress(msgspec.MsgspecError, OverflowError, RecursionError, UnicodeError):
            self._write(self._outline_name(content), self._encoder.encode(outline))

    def _outline_name(self, content: bytes) -> str:
        name = content.hex()
        return os.path.join("outlines", name[:2], name[2:])

    # -- runs -------------------------------------------------------------------------------

    def run(self, key: bytes) -> RunRecord | None:
        """What the last run with this key saw and found."""
        payload = self._read(os.path.join("runs", key.hex()))
        with contextlib.suppress(msgspec.MsgspecError, RecursionError):
            return None if payload is None else self._runs.decode(payload)
        return None

    def keep_run(self, key: bytes, record: RunRecord) -> None:
        """Keep what a run saw and found."""
        with contextlib.suppress(msgspec.MsgspecError, OverflowError, RecursionError, UnicodeError):
            self._write(os.path.join("runs", key.hex()), self._encoder.encode(record))

    # -- files ------------------------------------------------------------------------------

    def _read(self, name: str) -> bytes | None:
        try:
            with open(os.path.join(self.folder, name), "rb") as file:
                data = file.read()
        except (OSError, ValueError, MemoryError):
            return None
        payload = data[_DIGEST:]
        return payload if digest(payload) == data[:_DIGEST] else None

    def _write(self, name: str, payload: bytes) -> None:
        path = os.path.join(self.folder, name)
        if not self._writable:
            return
        temporary = ""
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
            with os.fdopen(handle, "wb") as file:
                file.write(digest(payload) + payload)
            os.replace(temporary, path)
        except (OSError, ValueError):
            with contextlib.suppress(OSError):
                os.unlink(temporary)

    @cached_property
    def _writable(self) -> bool:
        """Whether the folder is there or can be made; backup programs and git are told to leave it alone."""
        try:
            os.makedirs(self._root, exist_ok=True)
            for name, text in (("CACHEDIR.TAG", _TAG), (".gitignore", b"*\n")):
                path = os.path.join(self._root, name)
                if not os.path.exists(path):
                    with open(path, "wb") as file:
                        file.write(text)
        except OSError:
            return False
        return True


def digest(data: bytes) -> bytes:
    """A digest of 16 bytes."""
    return blake2b(data, digest_size=_DIGEST).digest()


@lru_cache(maxsize=1)
def _code_digest() -> str:
    """What tells this code from other code of the same version: the sizes and times of its files."""
    found: list[tuple[str, int, int]] = []
    pending = [os.path.dirname(__file__)]
    while pending:
        for entry in os.scandir(pending.pop()):
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    pending.append(entry.path)
            elif entry.name.endswith((".py", ".pyi")):
                status = entry.stat()
                found.append((entry.path, status.st_size, status.st_mtime_ns))
    return digest(repr(sorted(found)).encode()).hex()[:12]


def default_folder(directory: str) -> str:
    """Where the cache of a project is kept: beside its configuration or its repository, else in `directory`.

    The environment variable `JAXLINT_CACHE_DIR` names another folder.
    """
    named = os.environ.get("JAXLINT_CACHE_DIR")
    if named:
        return named
    return os.path.join(project_root(directory), _FOLDER)
