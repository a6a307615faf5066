"""What `jaxlint check` does about fixes: the options, the differences, and what is said of them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from jaxlint.cli.output import output, standard_output
from jaxlint.cli.report import Reporting
from jaxlint.syntax.paths import shown_path

if TYPE_CHECKING:
    from jaxlint.config.configuration import Configuration
    from jaxlint.config.settings import Settings
    from jaxlint.fixes.rounds import Fixed
    from jaxlint.fixes.running import FixedFiles
    from jaxlint.linter.result import Result

Command = Callable[..., Any]

_OPTIONS = (
    click.option("--fix-only", is_flag=True, help="Fix, and report nothing of what is left."),
    click.option("--diff", is_flag=True, help="Write no file; show what would be fixed."),
    click.option("--show-fixes", is_flag=True, help="List what was fixed."),
    click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 if something was fixed."),
)


class Fixing(NamedTuple):
    """How fixes are wanted, beside what the settings say."""

    only: bool
    diff: bool
    show: bool
    exit_non_zero: bool

    @property
    def is_all(self) -> bool:
        """Whether there is nothing else to do."""
        return self.only or self.diff

    def unsafe(self, settings: Settings) -> bool | None:
        """Which fixes are made where some settings hold: safe ones (False), all (True), or none (None)."""
        return settings.unsafe_fixes if settings.fix or self.is_all else None


def fixing(command: Command) -> Command:
    """Give a command the options about fixes, and their meaning as the argument `fixing`."""

    @wraps(command)
    def run(fix_only: bool, diff: bool, show_fixes: bool, exit_non_zero_on_fix: bool, **arguments: Any) -> Any:
        return command(fixing=Fixing(fix_only, diff, show_fixes, exit_non_zero_on_fix), **arguments)

    wrapped: Command = run
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def fix_files(result: Result, paths: Sequence[str], check: Callable[[], Result], fixing: Fixing) -> FixedFiles | None:
    """Fix what was found, as wanted; None if nothing is wanted."""
    if not any(fixing.unsafe(settings) is not None for settings, _ in result.checked):
        return None
    from jaxlint.fixes.running import fix_found

    return fix_found(result, paths, check, fixing.unsafe, write=not fixing.diff)


def fix_text(name: str, raw: bytes, configuration: Configuration, fixing: Fixing) -> tuple[bytes, FixedFiles] | None:
    """The standard input after what is wanted; None if nothing is wanted."""
    unsafe = fixing.unsafe(configuration.settings(name))
    if unsafe is None:
        return None
    from jaxlint.fixes.running import fix_content

    one, fixed = fix_content(raw, name, configuration, unsafe=unsafe)
    return (raw if one is None else one.content), fixed


def show(fixed: FixedFiles, fixing: Fixing, reporting: Reporting) -> None:
    """Tell of what was fixed, would be fixed, or could not be; the report of what is left tells how much is left."""
    from jaxlint.report.text import by_severity

    for problem in fixed.problems:
        click.echo(f"jaxlint: warning: {problem}", err=True)
    if fixing.diff:
        with output(reporting.file) as stream:
            for one in fixed.files:
                stream.writelines(_difference(one))
    if reporting.quiet:
        return
    if fixing.show:
        _list_fixes(fixed, "Would fix" if fixing.diff else "Fixed")
    number = len(fixed.fixed)
    what = by_severity(fixed.fixed) or "No errors"
    more = f" ({fixed.more} more with `--unsafe-fixes`)" if fixed.more else ""
    if fixing.diff:
        click.echo((f"Would fix {what}" if number else f"{what} would be fixed") + f"{more}.", err=True)
    elif fixing.only and (number or more):
        click.echo((f"Fixed {what}" if number else f"{what} fixed") + f"{more}.", err=True)


def exit_code(fixed: FixedFiles, fixing: Fixing, *, exit_zero: bool) -> int:
    """How a run ends that only fixes, or shows what it would fix: 2 if jaxlint itself failed."""
    if fixed.result.errors:
        return 2
    return int(bool(fixed.files) and (fixing.diff or fixing.exit_non_zero) and not exit_zero)


def _difference(one: Fixed) -> list[str]:
    """The lines of a unified diff of a file."""
    import difflib

    name = shown_path(one.before.path)
    before, after = (_lines(text) for text in (one.before.text, one.text))
    lines = difflib.unified_diff(before, after, name, name)
    return [line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n" for line in lines]


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends; only what Python takes for the end of one ends a line."""
    from jaxlint.cst.edits import LINES

    return LINES.findall(text)


def _list_fixes(fixed: FixedFiles, done: str) -> None:
    """Say which rules were fixed (or whatever was `done`) in which file."""
    from jaxlint.report.text import by_severity

    if not fixed.files:
        return
    click.echo(f"{done} {by_severity(fixed.fixed)}:", err=True)
    for one in fixed.files:
        click.echo(f"- {shown_path(one.before.path)}:", err=True)
        for (code, name), number in Counter((f.code, f.name) for f in one.fixed).items():
            click.echo(f"    {number} x {code} ({name})", err=True)


def write_source(content: bytes) -> None:
    """Write a text to the standard output just as it is."""
    with standard_output():
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
