"""The `jaxlint` command.

Everything but click is imported by the command that needs it: `--version` and `--help` load no
parser, no rule and no terminal library.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

from jaxlint.cache.version import __version__
from jaxlint.cli import watch as watching
from jaxlint.cli.clean import cache_dir, clean
from jaxlint.cli.config import config
from jaxlint.cli.facts import facts
from jaxlint.cli.fix import Fixing, fixing
from jaxlint.cli.input import name_stdin, show_files, standard_input, stdin_name
from jaxlint.cli.options import configured
from jaxlint.cli.path_types import PATH
from jaxlint.cli.report import (
    Reporting,
    report,
    reporting,
    tell_of_names_not_found,
    tell_of_run,
    tell_of_versions,
)
from jaxlint.cli.rule import rule
from jaxlint.cli.server import server
from jaxlint.cli.tree import tree
from jaxlint.errors import UserError

if TYPE_CHECKING:
    from rich.progress import Progress

    from jaxlint.config.configuration import Configuration
    from jaxlint.fixes.running import FixedFiles
    from jaxlint.linter.result import Result
    from jaxlint.linter.shards import Shard
    from jaxlint.syntax.source import Source

CLEAN, FINDINGS, FAILURE, INTERRUPTED = 0, 1, 2, 130

#: What a check has built, until the process ends.
_stored: list[object] = []

_PROGRESS_AFTER_SECONDS = 1.0

#: What other tools call what jaxlint has under a name of its own.
_OTHER_NAMES = {
    "explain": "rule",
    "fix": "check --fix",
    "help": "--help",
    "lint": "check",
    "lsp": "server",
    "version": "--version",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0 clean, 1 findings, 2 a mistake or a crash, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(args=arguments, prog_name="jaxlint", standalone_mode=False)
        return int(code or CLEAN)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except UserError as error:
        click.echo(f"jaxlint: error: {error}", err=True)
        return FAILURE
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        click.echo(_no_folder() or _internal_error(error), err=True)
        return FAILURE


class _Commands(click.Group):
    """The commands; a file where a command is expected, or a slip in one, is answered with what may be meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        given = args[0]
        if given in self.commands or given.startswith("-"):
            return super().resolve_command(ctx, args)
        from jaxlint.syntax.spelling import did_you_mean

        own = f"check {given}" if os.path.lexists(given) else _OTHER_NAMES.get(given)
        meant = f"; did you mean `jaxlint {own}`?" if own else did_you_mean(given, self.commands)
        raise click.UsageError(f"No such command '{given}'{meant}", ctx)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Find the bugs that JAX pytree dataclasses hide."""


cli.add_command(clean)
cli.add_command(config)
cli.add_command(facts)
cli.add_command(rule)
cli.add_command(server)
cli.add_command(tree)


def _shard(context: click.Context, option: click.Parameter, text: str | None) -> Shard | None:
    """The value of `--shard`."""
    if text is None:
        return None
    from jaxlint.linter.shards import Shard

    try:
        return Shard.parse(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} {error}.", context, option) from error


@cli.command()
@click.argument("paths", nargs=-1, type=PATH)
@configured()
@reporting
@fixing
@click.option("--show-files", "only_files", is_flag=True, help="List the files that would be checked; check nothing.")
@click.option(
    "--stdin-filename",
    metavar="FILE",
    type=PATH,
    help="Check the standard input as if it stood in this file.",
)
@click.option("--force-exclude", is_flag=True, help="Leave out excluded files even if they are named.")
@click.option("--no-cache", is_flag=True, envvar="JAXLINT_NO_CACHE", help="Neither read nor write the cache.")
@cache_dir
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), help="Number of processes.  [default: one per CPU]")
@click.option(
    "--facts",
    metavar="FILE",
    multiple=True,
    type=PATH,
    help="Use what `jaxlint facts` wrote to this file.",
)
@click.option("--shard", metavar="K/N", callback=_shard, help="Check the K-th of N parts of the files.")
@click.option("--add-noqa", is_flag=True, help="Write a comment that suppresses it for each finding.")
@click.option("--reason", metavar="TEXT", help="What such a comment gives as its reason.")
@click.option(
    "--write-baseline",
    metavar="FILE",
    type=PATH,
    help="Write all findings to this file, to be left out from now on.",
)
@click.option("--no-baseline", is_flag=True, help="Use no baseline, even if one is configured.")
@click.option("--strict-baseline", is_flag=True, help="Exit with 1 if the baseline holds what is not found any more.")
@watching.option
def check(
    paths: tuple[str, ...],
    configuration: Configuration,
    reporting: Reporting,
    fixing: Fixing,
    only_files: bool,
    stdin_filename: str | None,
    force_exclude: bool,
    no_cache: bool,
    cache_dir: str | None,
    exit_zero: bool,
    jobs: int | None,
    facts: tuple[str, ...],
    shard: Shard | None,
    add_noqa: bool,
    reason: str | None,
    write_baseline: str | None,
    no_baseline: bool,
    strict_baseline: bool,
    watch: bool,
) -> int:
    """Check files and directories.

    Directories are checked with all below them; without PATHS, the current one is. The path - stands for
    the standard input. Exits with 0 if nothing is found, with 1 if something is, with 2 for a wrong
    option, configuration or path.
    """
    from jaxlint.cache.store import Cache, project_cache
    from jaxlint.cli import fix, hide
    from jaxlint.linter.engine import check_paths

    hides = add_noqa or write_baseline is not None
    _refuse(
        (reason is not None and not add_noqa, "--reason goes with --add-noqa."),
        (add_noqa and write_baseline is not None, "--add-noqa and --write-baseline exclude each other."),
        (exit_zero and fixing.exit_non_zero, "--exit-zero and --exit-non-zero-on-fix exclude each other."),
    )
    quiet, started = reporting.quiet, time.monotonic()
    stdin = stdin_name(paths, stdin_filename)
    checks_files, is_part = not only_files and stdin is None, bool(facts or shard)
    is_watching = watch and not watching.is_watched()
    _refuse(
        (only_files and stdin is not None, "--show-files lists files; the standard input is none."),
        (not checks_files and is_part, "--facts and --shard need files that are checked."),
        (
            shard is not None and write_baseline is not None,
            "--write-baseline needs the findings of all files; leave --shard out.",
        ),
        (not checks_files and hides, "--add-noqa and --write-baseline need files that are checked."),
        (
            is_watching and (not checks_files or is_part or hides),
            "--watch needs a check of all files that does nothing else.",
        ),
    )
    if is_watching:
        return watching.run(paths or (".",))
    paths = paths if stdin is None else (stdin,)
    paths = paths or (".",)
    if only_files:
        show_files(paths, configuration, reporting, force_exclude)
        return CLEAN
    if no_baseline or write_baseline is not None:
        configuration.use_no_baseline()
    is_fixing = not (is_part or hides)
    if not is_fixing and (fixing.is_all or fixing.show or configuration.given("fix")):
        raise click.UsageError(
            "--fix, --fix-only, --diff and --show-fixes exclude --facts, --shard, --add-noqa and --write-baseline."
        )

    cache = None
    if not no_cache:
        cache = Cache(cache_dir) if cache_dir else project_cache(os.getcwd())

    def run() -> Result:
        with _progress(sys.stderr, quiet) as progress:
            return check_paths(
                paths,
                configuration,
                jobs=jobs or _cpus(),
                progress=progress,
                cache=cache,
                force_exclude=force_exclude,
                stored=_stored,
                facts=facts,
                shard=shard,
            )

    fixed = read = None
    if stdin is not None:
        result, fixed, read = _check_input(stdin, configuration, fixing)
    else:
        result = run()
        fixed = fix.fix_files(result, paths, run, fixing) if is_fixing else None
    if fixed is not None:
        result = fixed.result
        fix.show(fixed, fixing, reporting)
        if fixing.is_all:
            return fix.exit_code(fixed, fixing, exit_zero=exit_zero)
    if stdin is not None:
        name_stdin(result, stdin)
    if shard is not None and not result.files:
        reporting = reporting._replace(quiet=True)  # that a part is empty is nothing to report
    if strict_baseline and result.stale and not result.findings:
        reporting = reporting._replace(quiet=True)  # not all checks have passed
    if write_baseline is not None:
        result.findings = hide.write_baseline_file(result, write_baseline, quiet)
    elif add_noqa:
        result.findings = hide.write_comments(result, reason or "", quiet)
    if result.findings or not hides:
        is_shown = stdin is not None and fixed is not None  # the standard output holds the fixed text
        report(result, reporting, read, fixed=fixed.fixed if fixed is not None else (), to_stderr=is_shown)
    if reporting.verbose:
        tell_of_run(result, time.monotonic() - started)
        tell_of_versions(result, configuration)
    if not quiet or strict_baseline:
        hide.tell_of_stale_entries(result.stale, strict_baseline)
    if not quiet:
        hide.warn_of_ruff(result, paths, add_noqa)
        if stdin is None and shard is None:  # else other files may name them
            tell_of_names_not_found(result, paths)
    if result.errors:
        return FAILURE
    has_findings = bool(result.findings or (strict_baseline and result.stale))
    if fixing.exit_non_zero and fixed is not None and fixed.files:
        return FINDINGS
    return FINDINGS if has_findings and not exit_zero else CLEAN


def _refuse(*mistakes: tuple[bool, str]) -> None:
    """Say the first of some mistakes that was made, if one was."""
    for is_made, what in mistakes:
        if is_made:
            raise click.UsageError(what)


def _check_input(
    name: str, configuration: Configuration, fixing: Fixing
) -> tuple[Result, FixedFiles | None, Callable[[str], Source]]:
    """What is found in the standard input, what was fixed in it if that is wanted, and how its text is read."""
    from jaxlint.cli import fix
    from jaxlint.linter.engine import check_content
    from jaxlint.report.base import reader

    content = standard_input()
    done = fix.fix_text(name, content, configuration, fixing)
    if done is None:
        return check_content(content, name, configuration), None, reader(name, content)
    content, fixed = done
    if not fixing.diff:
        fix.write_source(content)
    return fixed.result, fixed, reader(name, content)


def _cpus() -> int:
    """How many processes this process may run at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _progress(stream: TextIO | None, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """What to tell how many of how many files are done; draws a bar on the terminal `stream` if it takes long."""
    if quiet or stream is None or not stream.isatty():
        yield None
        return
    bar = _Bar()
    try:
        yield bar.update
    finally:
        bar.stop()


class _Bar:
    """A progress bar that appears after a second."""

    def __init__(self) -> None:
        self._appears_at = time.monotonic() + _PROGRESS_AFTER_SECONDS
        self._progress: Progress | None = None

    def update(self, done: int, total: int) -> None:
        """Show that `done` of `total` files are done."""
        if self._progress is None:
            if time.monotonic() < self._appears_at:
                return
            from rich.console import Console
            from rich.progress import Progress

            from jaxlint.report.text import wants_color

            console = Console(stderr=True, color_system="auto" if wants_color(sys.stderr) else None)
            self._progress = Progress(console=console, transient=True)
            self._task = self._progress.add_task("Checking", total=total)
            self._progress.start()
        self._progress.update(self._task, completed=done, total=total)

    def stop(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()


def _no_folder() -> str | None:
    """What to say if the current directory is gone, which nothing works without."""
    try:
        os.getcwd()
    except OSError as error:
        return f"jaxlint: error: the current directory cannot be used ({error.strerror}): go to one that exists"
    return None


def _internal_error(error: Exception) -> str:
    """One line about a crash: what, where in jaxlint, which versions."""
    place = "unknown place"
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    traceback = error.__traceback__
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if filename.startswith(package):
            place = f"{filename[len(package) :]}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    what = " ".join(f"{type(error).__name__}: {error}".split())
    python = ".".join(str(part) for part in sys.version_info[:3])
    return f"jaxlint: internal error: {what} ({place}, jaxlint {__version__}, Python {python}); please report it"
