"""`jaxlint tree`: draws pytree classes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from jaxlint.cli.options import configured
from jaxlint.cli.output import standard_output

if TYPE_CHECKING:
    from jaxlint.config.configuration import Configuration


@click.command()
@click.argument("target", metavar="PATH[::CLASS]")
@configured(settings=False)
def tree(target: str, configuration: Configuration) -> None:
    """Draw pytree classes.

    Shows for the classes of a file, or one of them, which fields are leaves and which are static.
    """
    from jaxlint.project.files import PathError
    from jaxlint.syntax.source import Unreadable

    path, separator, class_name = target.rpartition("::")
    if not separator or os.path.exists(target):
        path, class_name = target, ""
    if not os.path.exists(path):
        raise PathError(f"{path}: No such file or directory")
    from jaxlint.linter.draw import draw_tree

    try:
        drawing = draw_tree(path, class_name or None, configuration.settings(path))
    except Unreadable as error:
        place = ":".join(str(part) for part in (path, error.row, error.column) if part is not None)
        raise PathError(f"{place}: {error}") from error
    with standard_output() as stream:
        stream.write(drawing.rstrip("\n") + "\n")
