"""Symbols: the table of contents of one file, made by one `ast` pass and cached by content.

`outliner` makes an `Outline` of imports, declarations, scopes and calls; `bodies` says which bodies count elsewhere.
Imports `syntax`, `libraries`, `suppression` and `cache`.
"""
