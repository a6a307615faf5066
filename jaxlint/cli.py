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
from typing import TYPE_CHECKING, Any, TextIO

import click

from jaxlint import __version__
from jaxlint.errors import UserError

if TYPE_CHECKING:
    from rich.progress import Progress

    from jaxlint.config import Settings
    from jaxlint.engine import Result
    from jaxlint.rules.base import Rule

CLEAN, FINDINGS, FAILURE, INTERRUPTED = 0, 1, 2, 130

_PROGRESS_AFTER_SECONDS = 1.0


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
        click.echo(_internal_error(error), err=True)
        return FAILURE


def _split(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> list[str] | None:
    """The values of an option that may be given several times, each with commas; None if it was not given."""
    words = [word.strip() for value in values for word in value.split(",") if word.strip()]
    if values and not words:
        raise click.BadParameter("the list is empty.", context, option)
    return words or None


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Find the bugs that JAX pytree dataclasses hide."""


@cli.command()
@click.argument("paths", nargs=-1)
@click.option(
    "--select",
    metavar="LIST",
    multiple=True,
    callback=_split,
    help="Codes, prefixes, names or groups of rules to run, or ALL.",
)
@click.option(
    "--ignore",
    metavar="LIST",
    multiple=True,
    callback=_split,
    help="Codes, prefixes, names or groups of rules to leave out.",
)
@click.option(
    "--output-format",
    type=click.Choice(["full", "concise", "json"]),
    default="full",
    show_default=True,
    help="How findings are shown.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("-q", "--quiet", is_flag=True, help="Print findings and errors, nothing else.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), help="Number of processes.  [default: one per CPU]")
@click.option("--python", metavar="PATH", help="The interpreter or environment whose packages the code imports.")
@click.option(
    "--config", metavar="FILE", help="Use this configuration; its paths are relative to the current directory."
)
@click.option("--isolated", is_flag=True, help="Read no configuration file.")
@click.option(
    "--exclude",
    metavar="LIST",
    multiple=True,
    callback=_split,
    help="Patterns as in a .gitignore of what not to check.",
)
def check(
    paths: tuple[str, ...],
    select: list[str] | None,
    ignore: list[str] | None,
    output_format: str,
    exit_zero: bool,
    quiet: bool,
    jobs: int | None,
    python: str | None,
    config: str | None,
    isolated: bool,
    exclude: list[str] | None,
) -> int:
    """Check files and directories.

    Directories are checked with all below them; without PATHS, the current one is. Exits with 0 if
    nothing is found, with 1 if something is, with 2 for a wrong option, configuration or path.
    """
    from jaxlint.config import override
    from jaxlint.engine import check_paths

    paths = paths or (".",)
    settings = _settings(paths, config, isolated)
    settings = override(settings, select=select, ignore=ignore, exclude=exclude, python=python)
    with _progress(sys.stderr, quiet) as progress:
        result = check_paths(paths, settings, jobs=jobs or _cpus(), progress=progress)
    _report(result, output_format, quiet)
    if result.errors:
        return FAILURE
    return FINDINGS if result.findings and not exit_zero else CLEAN


@cli.command()
@click.argument("rule", required=False, metavar="[CODE|NAME]")
@click.option("--all", "all_", is_flag=True, help="Explain every rule.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rule(rule: str | None, all_: bool, output_format: str) -> None:
    """Explain a rule.

    Says what it finds, why that is bad, what you see at run time and how to write it instead.
    """
    from jaxlint.rules import all_rules

    rules: Sequence[type[Rule]] = all_rules()
    if all_ == (rule is not None):
        raise click.UsageError("Give the code or the name of one rule, or --all.")
    if rule is not None:
        rules = [_find_rule(rule, rules)]
    if output_format == "json":
        import json

        objects = [_rule_object(one) for one in rules]
        text = json.dumps(objects if all_ else objects[0], indent=2)
    else:
        text = "\n\n".join(_rule_page(one) for one in rules)
    from jaxlint.report.text import wants_color

    with _standard_output() as stream:
        if output_format == "text" and wants_color(stream):
            from rich.console import Console
            from rich.markdown import Markdown

            Console(file=stream, force_terminal=True).print(Markdown(text))
        else:
            stream.write(text + "\n")


@cli.command()
@click.argument("target", metavar="PATH[::CLASS]")
@click.option(
    "--config", metavar="FILE", help="Use this configuration; its paths are relative to the current directory."
)
@click.option("--isolated", is_flag=True, help="Read no configuration file.")
def tree(target: str, config: str | None, isolated: bool) -> None:
    """Draw pytree classes.

    Shows for the classes of a file, or one of them, which fields are leaves and which are static.
    """
    from jaxlint.files import PathError
    from jaxlint.source import Unreadable

    path, separator, class_name = target.rpartition("::")
    if not separator or os.path.exists(target):
        path, class_name = target, ""
    if not os.path.exists(path):
        raise PathError(f"{path}: No such file or directory")
    from jaxlint.pytrees.draw import draw_tree

    try:
        drawing = draw_tree(path, class_name or None, _settings([path], config, isolated))
    except Unreadable as error:
        place = ":".join(str(part) for part in (path, error.row, error.column) if part is not None)
        raise PathError(f"{place}: {error}") from error
    with _standard_output() as stream:
        stream.write(drawing.rstrip("\n") + "\n")


def _settings(paths: Sequence[str], config: str | None, isolated: bool) -> Settings:
    """The settings for `paths`, by the two options that say where to read them."""
    from jaxlint.config import load

    if config is not None and isolated:
        raise click.UsageError("--config and --isolated exclude each other.")
    return load(paths, config, isolated)


def _cpus() -> int:
    """How many processes this process may run at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _report(result: Result, output_format: str, quiet: bool) -> None:
    """Write the findings to stdout and everything else to stderr."""
    with _standard_output() as stream:
        if output_format == "json":
            from jaxlint.report.json import render

            stream.write(render(result.findings) + "\n")
        else:
            from jaxlint.report.text import wants_color, write

            was_checked = result.files > 0 and not result.errors
            summary = not quiet and (was_checked or bool(result.findings))
            is_full = output_format == "full"
            write(result.findings, stream, full=is_full, color=wants_color(stream), summary=summary)
    for error in result.errors:
        click.echo(f"jaxlint: internal error: {error}", err=True)
    if not result.files and not result.findings and not result.errors and not quiet:
        click.echo("jaxlint: warning: no Python files found under the given paths", err=True)


def _find_rule(wanted: str, rules: Sequence[type[Rule]]) -> type[Rule]:
    """The rule with the code or name `wanted`, in any case."""
    from jaxlint.config import did_you_mean

    for one in rules:
        if wanted.lower() in (one.code.lower(), one.name):
            return one
    known = [word for one in rules for word in (one.code, one.name)]
    raise UserError(f"unknown rule `{wanted}`{did_you_mean(wanted, known)}")


def _rule_page(one: type[Rule]) -> str:
    """The page of a rule with its title, in Markdown."""
    state = "on by default" if one.enabled else "off by default"
    facts = [one.severity.value, f"{one.confidence.value} confidence", state, f"since {one.since}"]
    preview = ["preview"] if one.preview else []
    return f"# {one.name} ({one.code})\n\n{', '.join(facts + preview)}\n\n{one.page()}"


def _rule_object(one: type[Rule]) -> dict[str, Any]:
    """All that is known about a rule, for JSON."""
    return {
        "code": one.code,
        "name": one.name,
        "group": one.group,
        "severity": one.severity.value,
        "confidence": one.confidence.value,
        "enabled": one.enabled,
        "preview": one.preview,
        "since": one.since,
        "summary": one.summary(),
        "explanation": one.page(),
        "url": one.url(),
    }


@contextmanager
def _standard_output() -> Iterator[TextIO]:
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

            self._progress = Progress(console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task("Checking", total=total)
            self._progress.start()
        self._progress.update(self._task, completed=done, total=total)

    def stop(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()


def _internal_error(error: Exception) -> str:
    """One line about a crash: what, where in jaxlint, which versions."""
    place = "unknown place"
    package = os.path.dirname(os.path.abspath(__file__)) + os.sep
    traceback = error.__traceback__
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if filename.startswith(package):
            place = f"{filename[len(package) :]}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    what = " ".join(f"{type(error).__name__}: {error}".split())
    python = ".".join(str(part) for part in sys.version_info[:3])
    return f"jaxlint: internal error: {what} ({place}, jaxlint {__version__}, Python {python}); please report it"
