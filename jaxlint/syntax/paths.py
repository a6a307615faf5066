"""Paths: how they are shown, what is above them, and where a project begins."""

from __future__ import annotations

import os
from collections.abc import Iterator

#: The files that hold a configuration; of two in one directory the first counts.
CONFIG_NAMES = ("jaxlint.toml", "pyproject.toml")
#: What marks the directory of a project.
ROOT_MARKERS = (*CONFIG_NAMES, "setup.py", "setup.cfg", ".git")
#: What the name of a folder ends with that an installer writes beside packages: where it stands, imports begin.
INSTALLED = (".dist-info", ".egg-info")
#: What folders with tests are called.
TESTS = frozenset({"test", "tests", "testing"})


def project_root(path: str) -> str:
    """The nearest directory at or above `path` that holds a project file or `.git`; else the directory of `path`."""
    path = os.path.abspath(path)
    start = path if os.path.isdir(path) else os.path.dirname(path)
    for directory in ancestors(start):
        if any(os.path.exists(os.path.join(directory, marker)) for marker in ROOT_MARKERS):
            return directory
    return start


def shown_path(path: str) -> str:
    """`path` as a user wants to read it: relative to the current directory if it lies below it."""
    here = os.getcwd().rstrip(os.sep) + os.sep
    return path[len(here) :] if path.startswith(here) else path


def ancestors(directory: str) -> Iterator[str]:
    """`directory` (absolute) and all directories above it, nearest first."""
    while True:
        yield directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return
        directory = parent


def is_test_file(path: str) -> bool:
    """Whether a file is called like one of pytest's."""
    name = os.path.basename(path)
    return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"


def is_of_tests(path: str) -> bool:
    """Whether a file is a test, or stands beside tests in a folder that is called so."""
    return is_test_file(path) or os.path.basename(os.path.dirname(path)) in TESTS


def stamp(path: str) -> tuple[int, int]:
    """When a file was changed (in nanoseconds), and its size; zeros if there is none.

    What was moved or copied here with an old time was changed when that happened.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return 0, 0
    return max(status.st_mtime_ns, status.st_ctime_ns), status.st_size
