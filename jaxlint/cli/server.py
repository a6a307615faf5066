"""`jaxlint server`: the language server, which lives in a package of its own."""

from __future__ import annotations

import signal
import sys

import click

from jaxlint.errors import UserError

#: How each editor is told to start it.
_PAGE = "https://jaxlint-pytree.readthedocs.io/en/latest/editors/"


@click.command(epilog=f"\b\nHow to tell an editor:\n{_PAGE}")
@click.option("--stdio", is_flag=True, help="Use the standard streams, which it does anyway: some clients ask for it.")
def server(stdio: bool) -> None:
    """Serve an editor.

    Speaks the Language Server Protocol over the standard streams, with the editor that starts it. Needs the extra
    [lsp].
    """
    try:
        from jaxlint_lsp import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "jaxlint_lsp"):
            raise
        raise UserError('the language server needs two more packages: pip install "jaxlint-pytree[lsp]"') from error
    if sys.stdin.isatty():
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # or Ctrl-C would wait for the thread that reads, until a key
        click.echo(f"jaxlint: this waits for an editor, which starts it by itself; {_PAGE} says how", err=True)
    run()
