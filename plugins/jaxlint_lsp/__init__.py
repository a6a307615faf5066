"""jaxlint as a language server: findings while you type, and the pytree made visible.

    pip install "jaxlint-pytree[lsp]"
    jaxlint server

The server speaks the Language Server Protocol over the standard streams; see docs/editors.md.
"""

from jaxlint_lsp.run import run

__all__ = ["run"]
