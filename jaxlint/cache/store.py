"""What is stored on disk between runs: the facts of files by content, and what the last runs found.

The cache is a folder of packs (`jaxlint.cache.packs`) and of small files, written to a temporary name and renamed, each
with checksums. A file that is missing, torn, of another version or no cache file at all counts as absent; a folder that
cannot be written to is left alone. Nothing in it is executed: a cache that somebody else has written can at most be
wrong, and its checksums, which are no secret, keep accidents out, not attackers.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Collection, Sequence
from functools import cache, cached_property

import msgspec

from jaxlint.cache.atomic import TEMPORARY_PREFIX, write_atomically
from jaxlint.cache.digests import digest
from jaxlint.cache.packs import Pack, PackWriter, Place, open_packs
from jaxlint.cache.version import __version__
from jaxlint.errors import UserError
from jaxlint.finding import Finding
from jaxlint.syntax.paths import project_root, shown_path
from jaxlint.syntax.regular import open_regular

#: Before a record: its digest, and how many bytes it has.
_CHECKSUM, _LENGTH = 16, 8
_FOLDER = ".jaxlint_cache"
#: The code of jaxlint.
_CODE = os.path.dirname(os.path.dirname(__file__))
_PACK = ".pack"
_TAG_FILE = "CACHEDIR.TAG"
_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# This folder holds a cache of jaxlint.\n"
#: How much is stored: the caches of other versions, runs, packs of facts, and bytes of facts that no run needs.
_VERSIONS, _RUNS, _PACKS, _UNUSED_BYTES = 4, 64, 12, 64_000_000
#: A temporary file of this age, in seconds, was left by a process that was killed.
_ABANDONED = 3600


class FileRecord(msgspec.Struct, frozen=True, array_like=True):
    """One file as a run saw it: its time and size, the digest of its content, and whether it could be read."""

    mtime: int
    size: int
    content: bytes
    is_readable: bool = True


class RunRecord(msgspec.Struct, array_like=True):
    """What a run saw and found. Which findings still hold when files have changed is said beside it (`StoredIndex`)."""

    #: When it was written, in nanoseconds; files changed since shortly before are read again.
    written: int
    files: dict[str, FileRecord]
    #: Modules outside of the project that were read, with time and size.
    others: dict[str, tuple[int, int]]
    #: The folders in which modules were looked for, with the digest of what could be one.
    folders: dict[str, bytes]
    #: The folders of which it was asked whether a project begins there.
    beginnings: dict[str, bool]
    findings: dict[str, list[Finding]]
    #: The digest of what was indexed of the project as a whole.
    project_index: bytes


class Cache:
    """The cache in the folder `folder`."""

    def __init__(self, folder: str) -> None:
        python = "".join(map(str, sys.version_info[:2]))
        self.version = f"{__version__}-{python}-{code_digest(_CODE)}"
        self.folder = os.path.join(folder, self.version)
        self._root = folder
        self._encoder = msgspec.msgpack.Encoder()
        self._has_grown = False

    # -- facts ------------------------------------------------------------------------------

    def places(self) -> list[Place]:
        """The files that should be packs of facts, newest first, with what writes them."""
        return [(path, self.version) for path in _newest_first(self._facts_folder)]

    def new_pack(self) -> str | None:
        """Where a new pack is to be written; None if the folder cannot be written to."""
        try:
            if not self._writable:
                return None
            os.makedirs(self._facts_folder, exist_ok=True)
        except OSError:
            return None
        return os.path.join(self._facts_folder, f"{os.urandom(16).hex()}{_PACK}")

    def keep_pack(self, writer: PackWriter) -> bool:
        """Finish a pack; whether there is one now."""
        self._has_grown = writer.close() or self._has_grown
        return writer.closed

    @property
    def _facts_folder(self) -> str:
        return os.path.join(self.folder, "facts")

    # -- runs -------------------------------------------------------------------------------

    def run(self, key: bytes) -> RunRecord | None:
        """What the last run with this key saw and found."""
        with contextlib.suppress(OSError, ValueError, MemoryError, OverflowError):
            with open_regular(self._run_path(key)) as file:
                checksum = file.read(_CHECKSUM)
                size = int.from_bytes(file.read(_LENGTH), "big")
                payload = file.read(min(size, os.fstat(file.fileno()).st_size))
            if digest(payload) == checksum:
                with contextlib.suppress(msgspec.MsgspecError, RecursionError):
                    return _run_decoder().decode(payload)
        return None

    def indexed(self, key: bytes, wanted: bytes) -> bytes | None:
        """What the last run with this key indexed of the project, if it has the digest `wanted`; few runs ask."""
        with contextlib.suppress(OSError, ValueError, MemoryError, OverflowError):
            with open_regular(self._run_path(key)) as file:
                file.seek(_CHECKSUM)
                file.seek(int.from_bytes(file.read(_LENGTH), "big"), os.SEEK_CUR)
                indexed = file.read()
            return indexed if digest(indexed) == wanted else None
        return None

    def keep_run(self, key: bytes, record: RunRecord, indexed: bytes) -> None:
        """Keep what a run saw and found, and what it indexed."""
        path = self._run_path(key)
        with contextlib.suppress(
            OSError, ValueError, msgspec.MsgspecError, OverflowError, RecursionError, UnicodeError, MemoryError
        ):
            payload = self._encoder.encode(record)
            if self._writable and (os.path.isfile(path) or not os.path.exists(path)):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                size = len(payload).to_bytes(_LENGTH, "big")
                write_atomically(path, b"".join((digest(payload), size, payload, indexed)))
                self._has_grown = True

    def _run_path(self, key: bytes) -> str:
        return os.path.join(self.folder, "runs", key.hex())

    @cached_property
    def _writable(self) -> bool:
        """Whether the folder is there or can be made; backup programs and git are asked to leave it alone."""
        try:
            os.makedirs(self._root, exist_ok=True)
            names = os.listdir(self._root)
            is_new = all(name == ".gitignore" or name.startswith(TEMPORARY_PREFIX) for name in names)
            if is_new or _is_cache(self._root):
                for name, content in ((_TAG_FILE, _TAG), (".gitignore", b"*\n")):
                    if not os.path.exists(os.path.join(self._root, name)):
                        write_atomically(os.path.join(self._root, name), content)
        except (OSError, ValueError):
            return False
        return True

    # -- what is dropped --------------------------------------------------------------------

    def trim(self, needed: Collection[bytes]) -> None:
        """Drop what is old if this run has added to the cache, so that it does not grow without bound.

        `needed` are the digests of the files of this run.
        """
        if not self._has_grown:
            return
        with contextlib.suppress(OSError):
            os.utime(self.folder)
        for path in _newest_first(self._root)[_VERSIONS:]:
            if os.path.isdir(path):
                _remove_folder(path)
        for path in _newest_first(os.path.join(self.folder, "runs"))[_RUNS:]:
            _remove(path)
        for folder in (self._root, self._facts_folder, os.path.join(self.folder, "runs")):
            _remove_abandoned(folder)
        self._trim_packs(needed)

    def _trim_packs(self, needed: Collection[bytes]) -> None:
        """Merge packs if there are many; drop records that no longer serve if they take much space."""
        places = self.places()
        packs = open_packs(places)
        readable = {pack.path for pack in packs}
        for path, _ in places:
            if path not in readable:
                _remove(path)
        total = sum(pack.size for pack in packs)
        wanted = {key: pack.length(key) for pack in reversed(packs) for key in pack if key in needed}
        drops = total > max(_UNUSED_BYTES, 3 * sum(wanted.values()))
        merged = packs if drops else [pack for pack in packs if pack.size <= total // 4]
        if drops or len(packs) > _PACKS:
            target = self.new_pack()
            if target is not None:
                _merge(merged, PackWriter(target, self.version), needed if drops else None)
        for pack in packs:
            pack.close()


def _merge(packs: Sequence[Pack], writer: PackWriter, needed: Collection[bytes] | None) -> None:
    """Put the records of packs into one, those that are needed or all, and remove the packs."""
    with writer:
        for pack in packs:
            for key in pack:
                record = pack.get(key) if needed is None or key in needed else None
                if record is not None:
                    writer.add(key, record)
    if writer.closed:
        for pack in packs:
            _remove(pack.path)


def remove(folder: str) -> tuple[int, int] | None:
    """Remove the cache in `folder`; returns how many files and bytes that were, None if there is none.

    Raises `UserError` if that is no cache of jaxlint, or if it cannot be removed.
    """
    if not os.path.lexists(folder):
        return None
    if not _is_cache(folder):
        raise UserError(f"{shown_path(folder)}: is no cache of jaxlint (it has no {_TAG_FILE} of jaxlint); not removed")
    import shutil

    files = size = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(directory, name)).st_size
                files += 1
    try:
        # the tag last: what an interrupted removal leaves is still known for a cache
        for name in sorted(os.listdir(folder), key=lambda name: name == _TAG_FILE):
            path = os.path.join(folder, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        os.rmdir(folder)
    except OSError as error:
        raise UserError(f"{shown_path(folder)}: cannot be removed: {error.strerror or error}") from error
    return files, size


def _is_cache(folder: str) -> bool:
    """Whether jaxlint made this folder."""
    try:
        with open_regular(os.path.join(folder, _TAG_FILE)) as file:
            return not os.path.islink(folder) and file.read(len(_TAG) + 1) == _TAG
    except (OSError, ValueError):
        return False


def _newest_first(folder: str) -> list[str]:
    """What is in a folder, without what is being written and what is hidden."""
    found = []
    with contextlib.suppress(OSError, ValueError):
        for entry in os.scandir(folder):
            if not entry.name.startswith(".") and entry.name != _TAG_FILE:
                found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    return [path for _, path in sorted(found, reverse=True)]


def _remove_abandoned(folder: str) -> None:
    """Remove temporary files of processes that were killed."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.startswith(TEMPORARY_PREFIX) and entry.stat().st_mtime < time.time() - _ABANDONED:
                _remove(entry.path)


def _remove_folder(path: str) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


@cache
def _run_decoder() -> msgspec.msgpack.Decoder[RunRecord]:
    """Decodes records of runs; a type checker that keeps outlines here has none."""
    return msgspec.msgpack.Decoder(RunRecord)


@cache
def code_digest(folder: str) -> str:
    """What tells the code in a folder from other code of the same version: the sizes and times of its files.

    It is found out once in a process, which goes on with the code that it has loaded.
    """
    found: list[tuple[str, int, int]] = []
    pending = [folder]
    while pending:
        for entry in os.scandir(pending.pop()):
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    pending.append(entry.path)
            elif entry.name.endswith((".py", ".pyi")):
                status = entry.stat()
                found.append((entry.path[len(folder) :], status.st_size, status.st_mtime_ns))
    return digest(repr(sorted(found)).encode()).hex()[:12]


def project_cache(directory: str) -> Cache | None:
    """The cache of the project that holds `directory`.

    None where a link leads out of the project: a repository that is checked has no say in where files are written.
    """
    folder = default_folder(directory)
    root = os.path.realpath(project_root(directory))
    leads_out = os.path.islink(folder) and os.path.commonpath([root, os.path.realpath(folder)]) != root
    return None if leads_out and not os.environ.get("JAXLINT_CACHE_DIR") else Cache(folder)


def default_folder(directory: str) -> str:
    """Where the cache of a project is stored: beside its configuration or its repository, else in `directory`.

    The environment variable `JAXLINT_CACHE_DIR` names another folder.
    """
    named = os.environ.get("JAXLINT_CACHE_DIR")
    if named:
        return named
    return os.path.join(project_root(directory), _FOLDER)
