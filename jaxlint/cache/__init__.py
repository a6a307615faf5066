"""Cache: what stays on disk between runs, by content.

`packs` hold many small records, `store` is the folder of them, `atomic` writes files that nobody sees half written.
Imports `syntax`. Nothing in a cache is ever executed.
"""
