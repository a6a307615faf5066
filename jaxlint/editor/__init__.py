"""Editor: what `jaxlint check` would find if all buffers were saved, a few milliseconds after each key.

`workspace` holds the texts; `rechecking` looks again only at the units that an edit concerns. Imports `linter` and what
is below; it knows nothing of the language server protocol, which lives in `plugins/jaxlint_lsp`.
"""
