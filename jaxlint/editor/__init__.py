"""Editor: what `jaxlint check` would find if all buffers were saved, a few milliseconds after each key.

`workspace` holds the texts; `trees` checks the edited file anew, and keeps what does not depend on the edit. Imports
`linter` and what is below; it knows nothing of the language server protocol, which lives in `plugins/jaxlint_lsp`.
"""
