"""`jaxlint tree`: draws pytree classes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from jaxlint.cli.options import configured, python
from jaxlint.cli.output import output
from jaxlint.cli.path_types import PATH
from jaxlint.report import DRAWINGS, drawer

if TYPE_CHECKING:
    from jaxlint.config.configuration import Configuration
    from jaxlint.linter.draw import Target

FAILURE = 2


@click.command()
@click.argument("targets", nargs=-1, metavar="[PATH|PACKAGE[::CLASS]]...", type=PATH)
@configured(settings=False)
@python
@click.option("--output-format", type=click.Choice(list(DRAWINGS)), default="text", show_default=True)
@click.option(
    "-o",
    "--output-file",
    metavar="FILE",
    type=PATH,
    help="Write to this file instead of the standard output.",
)
def tree(targets: tuple[str, ...], configuration: Configuration, output_format: str, output_file: str | None) -> int:
    """Draw pytree classes.

    Shows which fields of them are leaves and which are static, how instances are rebuilt, and what is found:
    for all pytree classes of files, folders and packages (by their dotted names), or for one class. Without
    anything else, for the current folder. `html` is one page with all that it needs.
    """
    from jaxlint.linter.draw import draw

    asked = [_target(text, configuration) for text in targets or (os.curdir,)]
    drawing = draw(asked, configuration, sources=output_format == "html")
    with output(output_file) as stream:
        drawer(output_format)(drawing, stream)
    for error in drawing.errors:
        click.echo(f"jaxlint: internal error: {error}", err=True)
    return FAILURE if drawing.errors else 0


def _target(text: str, configuration: Configuration) -> Target:
    """What is meant by `text`. Raises `UserError` if there is nothing of that name."""
    from jaxlint.linter.draw import Target, package_path
    from jaxlint.project.files import PathError

    path, separator, class_name = text.rpartition("::")
    if not separator or os.path.exists(text):
        path, class_name = text, ""
    if not os.path.exists(path):
        found = package_path(path, configuration.settings(os.getcwd()))
        if found is None:
            raise PathError(f"{path}: {_missing(path, configuration)}")
        path = found
    if class_name and os.path.isdir(path):
        raise PathError(f"{path}: is a folder; name a file for `{class_name}`")
    return Target(path, class_name or None)


def _missing(name: str, configuration: Configuration) -> str:
    """That there is neither a file nor, if it may be one, a package of that name, and where packages are looked for."""
    from jaxlint.project.environment import in_use

    if name.endswith((".py", ".pyi")) or not all(part.isidentifier() for part in name.split(".")):
        return "No such file or directory"
    environment = in_use(configuration.settings(os.getcwd()).python)
    nowhere = "(no environment is activated, and there is no .venv; `--python PATH` names one)"
    way_out = f"of {environment}" if environment else nowhere
    return f"neither a file nor an installed package {way_out}"
