"""The options that say which settings hold; each is named like the key that it sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from jaxlint.cli import completion
from jaxlint.cli.path_types import PATH

Command = Callable[..., Any]


def split(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> list[str] | None:
    """The values of an option that may be given several times, each with commas; None if it was not given."""
    words = [word.strip() for value in values for word in value.split(",") if word.strip()]
    if values and not words:
        raise click.BadParameter("the list is empty.", context, option)
    return words or None


def _list(name: str, help: str) -> Callable[[Command], Command]:
    return click.option(name, metavar="LIST", multiple=True, callback=split, help=help)


def _rules(name: str, help: str) -> Callable[[Command], Command]:
    complete = completion.selectors
    return click.option(name, metavar="LIST", multiple=True, callback=split, shell_complete=complete, help=help)


#: The option of all commands that ask what is installed.
python = click.option(
    "--python",
    metavar="PATH",
    type=PATH,
    help="The interpreter or environment whose packages the code imports.",
)


#: The options that set keys, in the order in which `--help` shows them.
_SETTING = (
    _rules("--select", "Codes, prefixes, names or groups of rules to run, or ALL."),
    _rules("--ignore", "Codes, prefixes, names or groups of rules to leave out."),
    _rules("--extend-select", "Rules to run in addition to the configured ones."),
    _rules("--extend-ignore", "Rules to leave out in addition to the configured ones."),
    click.option(
        "--min-confidence",
        type=click.Choice(["low", "medium", "high"]),
        help="How sure a finding must be to be reported.  [default: medium]",
    ),
    click.option(
        "--preview/--no-preview",
        default=None,
        help="Whether ALL, groups and prefixes mean rules in preview too.  [default: no]",
    ),
    _list("--exclude", "Patterns as in a .gitignore of what not to check."),
    _list("--extend-exclude", "Patterns in addition to the configured ones."),
    python,
    click.option("--target-version", metavar="VERSION", help="The Python that the code runs on, as in 3.11."),
    click.option("--target-jax", metavar="VERSION", help="The jax that the code runs with, as in 0.4.35."),
    click.option("--fix/--no-fix", default=None, help="Whether to fix what can be fixed safely.  [default: no]"),
    click.option(
        "--unsafe-fixes/--no-unsafe-fixes",
        default=None,
        help="Whether to apply fixes, too, that may change what the program does.  [default: no]",
    ),
    _rules("--fixable", "Rules whose fixes are offered and applied.  [default: ALL]"),
    _rules("--unfixable", "Rules of these whose fixes are neither offered nor applied."),
    _rules("--extend-safe-fixes", "Rules whose unsafe fixes count as safe."),
    _rules("--extend-unsafe-fixes", "Rules whose safe fixes count as unsafe."),
    click.option(
        "--baseline",
        metavar="FILE",
        type=PATH,
        help="Leave out the findings that this file holds.",
    ),
)
_SOURCES = (
    click.option(
        "--config",
        metavar="FILE|TOML",
        multiple=True,
        type=PATH,
        help="Use this configuration, with paths relative to the current directory, or set a key: 'preview = true'.",
    ),
    click.option("--isolated", is_flag=True, help="Read no configuration file."),
)


def configured(settings: bool = True) -> Callable[[Command], Command]:
    """Give a command the options for its settings, and their meaning as the argument `configuration`.

    With `settings` these are options for single keys too.
    """
    options = (*(_SETTING if settings else ()), *_SOURCES)

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**arguments: Any) -> Any:
            from jaxlint.config.configuration import Configuration
            from jaxlint.config.table import Table

            config: tuple[str, ...] = arguments.pop("config")
            isolated: bool = arguments.pop("isolated")
            if isolated and any("=" not in text for text in config):
                raise click.UsageError("--config and --isolated exclude each other.")
            given = {key: arguments.pop(key.replace("-", "_"), None) for key in Table.__struct_encode_fields__}
            values = {key: value for key, value in given.items() if value is not None}
            return command(configuration=Configuration(config, isolated, values), **arguments)

        wrapped: Command = run
        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped

    return decorate
