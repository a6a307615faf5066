"""`jaxlint facts`: what can be found out about files one by one, for `jaxlint check --facts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from jaxlint.cli.options import configured
from jaxlint.cli.path_types import PATH

if TYPE_CHECKING:
    from jaxlint.config.configuration import Configuration


@click.command()
@click.argument("paths", nargs=-1, type=PATH)
@configured(settings=False)
@click.option("--output", metavar="FILE", required=True, type=PATH, help="Write the facts to this file.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors, nothing else.")
def facts(paths: tuple[str, ...], configuration: Configuration, output: str, quiet: bool) -> None:
    """Find out the facts of files.

    Writes to FILE what `jaxlint check --facts FILE` need not find out again: the outlines of the files in PATHS
    (default: the current directory). They depend on the contents of the files alone: build systems can make
    them file by file, keep them, and send them to other machines.
    """
    from jaxlint.linter.mapping import write_facts
    from jaxlint.project.files import discover
    from jaxlint.syntax.paths import shown_path

    files = discover(paths or (".",), configuration.excludes)
    count = write_facts(files, output)
    if not quiet:
        click.echo(f"{shown_path(output)} holds the facts of {count} file{'' if count == 1 else 's'}", err=True)
