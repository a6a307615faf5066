"""`python -m tools.versions`: see `--help`."""

from __future__ import annotations

import click

from tests.oracle import versions
from tools.versions.locks import resolve


@click.group()
def main() -> None:
    """What the frameworks do in other versions than those that the tests run with."""


@main.command()
@click.argument("names", nargs=-1, type=click.Choice(list(versions.COLUMNS)))
def lock(names: tuple[str, ...]) -> None:
    """Lock the environments NAMES anew (default: all) with what the registry has today."""
    for name in names or versions.COLUMNS:
        versions.lock(name).write_text(resolve(name))
        click.echo(f"locked {name}", err=True)


if __name__ == "__main__":
    main()
