"""Writing files so that a reader sees the old content or the new one, and nothing between."""

from __future__ import annotations

import contextlib
import os
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
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", path)
    import shutil
    import tempfile

    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=TEMPORARY_PREFIX)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
        if os.path.exists(target):
            shutil.copymode(target, temporary)
        else:
            os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    """The permissions that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
