"""The options that say how findings are reported, and the reporting."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from jaxlint.cli.output import output
from jaxlint.cli.path_types import PATH
from jaxlint.report import FORMATS, STATISTICS, writer

if TYPE_CHECKING:
    from jaxlint.config.configuration import Configuration
    from jaxlint.finding import Finding
    from jaxlint.linter.result import Result
    from jaxlint.syntax.source import Source

Command = Callable[..., Any]

_OPTIONS = (
    click.option(
        "--output-format",
        type=click.Choice(list(FORMATS)),
        default="full",
        show_default=True,
        help="How findings are shown: to people, to programs (json, json-lines), as annotations (github), Code Quality"
        " report (gitlab), test report (junit), suggestions (rdjson) or for code scanning (sarif).",
    ),
    click.option(
        "--output-file",
        metavar="FILE",
        type=PATH,
        help="Write to this file what would go to the standard output.",
    ),
    click.option("--statistics", is_flag=True, help="Show how many findings each rule has, as text or JSON."),
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        help="When to use colours.  [default: on a terminal; NO_COLOR and FORCE_COLOR count]",
    ),
    click.option("-v", "--verbose", is_flag=True, help="Say what was checked, in which environment and how long."),
    click.option("-q", "--quiet", is_flag=True, help="Print findings and errors, nothing else."),
)


class Reporting(NamedTuple):
    """How findings are to be reported: a format of `FORMATS`, a file or None, only counts, when in colour, …"""

    format: str
    file: str | None
    statistics: bool
    color: str
    #: Whether to say more, or less, than the findings and their number.
    verbose: bool
    quiet: bool


def reporting(command: Command) -> Command:
    """Give a command the options for its report, and their meaning as the argument `reporting`."""

    @wraps(command)
    def run(
        output_format: str,
        output_file: str | None,
        statistics: bool,
        color: str,
        verbose: bool,
        quiet: bool,
        **arguments: Any,
    ) -> Any:
        if statistics and output_format not in STATISTICS:
            possible = ", ".join(STATISTICS)
            raise click.UsageError(f"There are no --statistics in the format {output_format}, but in {possible}.")
        if verbose and quiet:
            raise click.UsageError("--verbose and --quiet exclude each other.")
        given = Reporting(output_format, output_file, statistics, color, verbose, quiet)
        return command(reporting=given, **arguments)

    wrapped: Command = run
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def report(
    result: Result,
    reporting: Reporting,
    read: Callable[[str], Source] | None = None,
    *,
    fixed: Sequence[Finding] = (),
    to_stderr: bool = False,
) -> None:
    """Write the findings to stdout (or stderr) or a file, and everything else to stderr.

    What was `fixed` before is counted; `read` gives texts not as on disk.
    """
    from jaxlint.report.base import Report
    from jaxlint.report.text import wants_color
    from jaxlint.syntax.source import Source

    was_checked = result.files > 0 and not result.errors
    summary = not reporting.quiet and (was_checked or bool(result.findings))
    write = writer(STATISTICS if reporting.statistics else FORMATS, reporting.format)
    unsafe = any(settings.unsafe_fixes for settings, _ in result.checked)
    with nullcontext(sys.stderr) if to_stderr and reporting.file is None else output(reporting.file) as stream:
        color = reporting.file is None and wants_color(stream, choice=reporting.color)
        write(Report(result.findings, result.errors, read or Source.read, color, summary, fixed, unsafe), stream)
    for error in result.errors:
        click.echo(f"jaxlint: internal error: {error}", err=True)
    if not result.files and not result.findings and not result.errors and not reporting.quiet:
        tell_of_no_files()


def tell_of_run(result: Result, seconds: float) -> None:
    """Say how many files and classes were checked, in what time, and from which environments packages were read."""
    from jaxlint.linter.engine import count_classes
    from jaxlint.project.environment import in_use, read_from

    took = f"{seconds:.2f} s" if seconds < 100 else f"{seconds:.0f} s"
    hidden = f", {count(len(result.suppressed), 'finding')} suppressed by comments" if result.suppressed else ""
    classes = count(count_classes(result.checked), "pytree class", "pytree classes")
    click.echo(f"jaxlint: {count(result.files, 'file')} with {classes} checked in {took}{hidden}", err=True)
    for environment in dict.fromkeys(in_use(settings.python) for settings, _ in result.checked):
        click.echo(f"jaxlint: {read_from(environment)}", err=True)


def tell_of_versions(result: Result, configuration: Configuration) -> None:
    """Say with which versions the code is taken to run, and who says so."""
    from jaxlint.config.versions import shown_versions

    lines = [line for _, paths in result.checked if paths for line in shown_versions(configuration.versions(paths[0]))]
    for line in dict.fromkeys(lines):
        click.echo(f"jaxlint: the code runs with {line}", err=True)


def tell_of_no_files() -> None:
    """Warn that there was nothing to do."""
    click.echo("jaxlint: warning: no Python files found under the given paths", err=True)


def tell_of_names_not_found(result: Result, paths: Sequence[str]) -> None:
    """Warn of `extra-decorators` and kin that name what is not there, where a folder was checked.

    A few files need not use the module, and where it is not installed only they could tell that there is one.
    """
    naming = [(s, f) for s, f in result.checked if s.extra_decorators or s.extra_bases or s.extra_fields]
    if naming and any(map(os.path.isdir, paths)):
        from jaxlint.linter.names_not_found import names_not_found

        for problem in dict.fromkeys(names_not_found(naming, paths)):
            click.echo(f"jaxlint: warning: {problem}", err=True)


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """A number with a noun."""
    return f"{number} {noun if number == 1 else nouns or f'{noun}s'}"
