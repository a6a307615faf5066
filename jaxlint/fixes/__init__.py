"""Fixes: what `--fix` writes. Rounds of fixes, each looked at before anything is written.

`rounds` makes the fixes of one file until none is left, `names` sees that all names are bound then, `running` does so
for files. Imports `linter` and what is below.
"""
