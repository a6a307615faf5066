"""What is checked: files below paths, or the standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from jaxlint.cli.output import output
from jaxlint.cli.report import Reporting, tell_of_no_files
from jaxlint.errors import UserError

if TYPE_CHECKING:
    from jaxlint.config.configuration import Configuration
    from jaxlint.linter.result import Result

#: The path that stands for the standard input.
STDIN = "-"


def stdin_name(paths: Sequence[str], filename: str | None) -> str | None:
    """The file whose content is on the standard input: `filename`, or `-` if only the path `-` says so, else None."""
    if filename is None and STDIN not in paths:
        return None
    if any(path != STDIN for path in paths):
        raise click.UsageError("The standard input (-) is checked alone; give no other paths.")
    if filename is not None and os.path.isdir(filename):
        raise UserError(f"--stdin-filename: {filename}: Is a directory")
    if filename is not None:
        from jaxlint.project.files import refuse_notebook

        refuse_notebook(filename)
    return filename or STDIN


def standard_input() -> bytes:
    """What is on the standard input. Raises `UserError`."""
    if sys.stdin is None:
        raise UserError("the standard input is closed")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise UserError(f"cannot read the standard input: {error.strerror or error}") from error


def name_stdin(result: Result, name: str) -> None:
    """Call the standard input in findings what the user calls it: - is no file of the current folder."""
    if name == STDIN:
        from msgspec import structs

        path = os.path.abspath(name)
        result.findings = [structs.replace(one, path=name) if one.path == path else one for one in result.findings]


def show_files(paths: Sequence[str], configuration: Configuration, reporting: Reporting, force: bool) -> None:
    """Write the names of the files that would be checked, one to a line."""
    from jaxlint.project.files import discover
    from jaxlint.syntax.paths import shown_path

    files = discover(paths, configuration.excludes, force=force)
    with output(reporting.file) as stream:
        stream.writelines(f"{shown_path(path)}\n" for path in files)
    if not files and not reporting.quiet:
        tell_of_no_files()
