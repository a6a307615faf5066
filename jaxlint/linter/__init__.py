"""Linter: from paths to findings.

`engine` runs a check, `checker` lets the rules look at each module, `parallel` and `shards` share the work out, `runs`
takes over what an earlier run has found. Imports `rules`, `config` and what is below; findings come out.
"""
