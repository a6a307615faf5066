"""Cli: the `jaxlint` command. `main` has its commands, the other files what they do and share.

Imports everything, late: `jaxlint --version` and a run in which nothing has changed load next to nothing.
"""
