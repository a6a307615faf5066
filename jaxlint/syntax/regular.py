"""Regular files: what a project names is read if it is one. A pipe would keep the run waiting for what never comes."""

from __future__ import annotations

import os
import stat
from errno import EINVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedReader

_NAMES = {stat.S_IFIFO: "named pipe", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}


def read_regular(path: str) -> bytes:
    """The content of the regular file `path`. Raises `OSError` if it cannot be read, or is something else."""
    with open_regular(path) as file:
        return file.read()


def open_regular(path: str) -> BufferedReader:
    """The regular file `path`, to be read. Raises `OSError` if it cannot be opened, or is something else."""
    kind = os.stat(path).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # a folder cannot be opened
        raise OSError(EINVAL, no_regular_file(kind), path)
    return open(path, "rb")


def no_regular_file(kind: int) -> str:
    """What something of the mode `kind` is, which is neither a regular file nor a folder."""
    return f"is a {_NAMES.get(stat.S_IFMT(kind), 'special file')}, not a regular file"
