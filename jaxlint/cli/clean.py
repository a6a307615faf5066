"""`jaxlint clean`: removing the cache."""

from __future__ import annotations

import os

import click

from jaxlint.cli.path_types import FOLDER

#: The option of all commands that have to do with the cache.
cache_dir = click.option(
    "--cache-dir",
    metavar="DIR",
    type=FOLDER,
    help="Where the cache is stored.  [default: .jaxlint_cache in the project]",
)


@click.command()
@cache_dir
def clean(cache_dir: str | None) -> None:
    """Remove the cache.

    Removes the folder in which `jaxlint check` keeps what it found out about files, here or in DIR, and says so.
    What jaxlint did not make stays.
    """
    from jaxlint.cache.store import default_folder, remove
    from jaxlint.syntax.paths import shown_path

    folder = os.path.abspath(cache_dir or default_folder(os.getcwd()))
    removed = remove(folder)
    if removed is None:
        click.echo(f"nothing to remove: there is no {shown_path(folder)}")
    else:
        files, size = removed
        click.echo(f"removed {shown_path(folder)} ({files} file{'' if files == 1 else 's'}, {size / 1e6:.1f} MB)")
