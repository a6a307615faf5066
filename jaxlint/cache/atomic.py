"""Writing files so that a reader sees the old content or the new one, and nothing between."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import IO

#: How the names of files begin that are still being written; one that is old was left by a process that was killed.
TEMPORARY_PREFIX = ".jaxlint-"


def write_atomically(path: str, content: bytes) -> None:
    """Make `content` the content of the file `path`, which keeps its permissions; a link stays a link.

    What is no regular file, like a pipe or `/dev/stderr`, is written to directly. Raises OSError, and then
    nothing has changed.
    """
    with replacing(path) as file:
        file.write(content)


@contextlib.contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """A file that becomes `path` when all is written to it, like `write_atomically`."""
    target = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as device:
            yield device
        return
    is_new = not os.path.exists(target)
    if not is_new and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", path)
    # `tempfile` would do the same; to load it takes a tenth of a run that has one file to check
    temporary = os.path.join(os.path.dirname(target), TEMPORARY_PREFIX + os.urandom(8).hex())
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(temporary, flags, 0o666 if is_new else 0o600)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
        if not is_new:
            os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
