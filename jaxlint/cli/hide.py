"""What `jaxlint check` does beside reporting: comments and baselines that hide findings, and notes about them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import click

from jaxlint.cli.report import count
from jaxlint.errors import UserError
from jaxlint.syntax.paths import shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxlint.finding import Finding
    from jaxlint.linter.result import Result
    from jaxlint.suppression.baseline import Stale

_NAMED_NOQA = re.compile(r"#\s*noqa\s*:", re.IGNORECASE)
#: How many stale entries are shown.
_MAX_SHOWN = 5


def write_comments(result: Result, reason: str, quiet: bool) -> list[Finding]:
    """Write a suppression comment for each finding, and return the findings for which there can be none."""
    from jaxlint.suppression.add_noqa import add_noqa

    _refuse_if_incomplete(result, "no comments were added")
    added = add_noqa(result.findings, reason)
    for refusal in added.refusals:
        click.echo(f"jaxlint: warning: {refusal}", err=True)
    if not quiet:
        files = count(added.files, "file")
        click.echo(f"jaxlint: added {count(added.comments, 'suppression comment')} in {files}", err=True)
    return added.left


def write_baseline_file(result: Result, path: str, quiet: bool) -> list[Finding]:
    """Write the findings to the baseline `path`, and return those that no baseline takes."""
    from jaxlint.linter.result import codes_checked
    from jaxlint.suppression.baseline import UNREADABLE, write_baseline

    _refuse_if_incomplete(result, f"{path} was not written")
    entries = write_baseline(path, result.findings, codes_checked(result.checked))
    if not quiet:
        click.echo(f"jaxlint: {path} holds {count(entries, 'finding')} now", err=True)
    return [finding for finding in result.findings if finding.code == UNREADABLE]


def tell_of_stale_entries(stale: Sequence[Stale], is_error: bool) -> None:
    """Say which entries of baselines stand for nothing any more, one line for each baseline."""
    for path in sorted({one.baseline for one in stale}):
        entries = [one.entry for one in stale if one.baseline == path]
        what = "; ".join(f"{entry.path}: {entry.rule} `{entry.line}`" for entry in entries[:_MAX_SHOWN])
        more = f"; and {len(entries) - _MAX_SHOWN} more" if len(entries) > _MAX_SHOWN else ""
        entry = "entry has" if len(entries) == 1 else "entries have"
        shown = shown_path(path)
        level = "error" if is_error else "warning"
        click.echo(
            f"jaxlint: {level}: {shown}: {len(entries)} {entry} no finding any more ({what}{more});"
            f" renew it with `--write-baseline {shown}`",
            err=True,
        )


def warn_of_ruff(result: Result, paths: Sequence[str], added: bool) -> None:
    """Say that ruff removes comments like those that are used, or were added, if its configuration says so."""
    if not added and not any(_NAMED_NOQA.match(finding.suppressed) for finding in result.suppressed):
        return
    from jaxlint.suppression.ruff_config import removing_config

    directories = dict.fromkeys(path if os.path.isdir(path) else os.path.dirname(path) for path in paths)
    for directory in directories:
        path = removing_config(directory)
        if path is not None:
            table = "[tool.ruff.lint]" if os.path.basename(path) == "pyproject.toml" else "[lint]"
            click.echo(
                f"jaxlint: warning: {shown_path(path)}: `ruff --fix` removes `# noqa: JAX...` comments"
                f' (RUF100, RUF102); add `external = ["JAX"]` to {table}',
                err=True,
            )
            return


def _refuse_if_incomplete(result: Result, consequence: str) -> None:
    """Raise `UserError` if findings may be missing."""
    if result.errors:
        raise UserError(f"{result.errors[0]}; {consequence}")
