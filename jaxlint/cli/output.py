"""Where output goes, and what happens when it cannot be written."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from jaxlint.errors import UserError


@contextmanager
def output(path: str | None) -> Iterator[TextIO]:
    """The standard output, or the file `path`, which holds what was there before until all is written.

    Folders that are missing are made. Raises `UserError` if it cannot be written.
    """
    if path is None:
        with standard_output() as stream:
            yield stream
        return
    text = io.StringIO()
    yield text
    from jaxlint.cache.atomic import write_atomically

    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        write_atomically(path, text.getvalue().encode("utf-8", "backslashreplace"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UserError(f"--output-file: {path}: {reason or error}") from error


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """The standard output. A reader that went away ends it quietly; any other failure raises `UserError`."""
    if sys.stdout is None:
        raise UserError("the standard output is closed")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
    except OSError as error:
        _discard_output()
        raise UserError(f"cannot write the output: {error.strerror or error}") from error


def _discard_output() -> None:
    """Send what is still buffered for the standard output nowhere, so that the exit of Python does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
