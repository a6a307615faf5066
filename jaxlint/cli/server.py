"""`jaxlint server`: the language server, which lives in a package of its own."""

from __future__ import annotations

import click

from jaxlint.errors import UserError


@click.command()
@click.option("--stdio", is_flag=True, help="Use the standard streams, which it does anyway: some clients ask for it.")
def server(stdio: bool) -> None:
    """Serve an editor.

    Speaks the Language Server Protocol over the standard streams. Needs the extra [lsp].
    """
    try:
        from jaxlint_lsp import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "jaxlint_lsp"):
            raise
        raise UserError('the language server needs two more packages: pip install "jaxlint-pytree[lsp]"') from error
    run()
