"""Which units of a module are worth reading: those that hold what some rule looks for.

`triggers` is the way in, `waiting` what rules wait for. Imports `known` and `transforms`.
"""
