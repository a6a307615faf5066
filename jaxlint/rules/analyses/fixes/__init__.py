"""Fixes that several rules propose: other options, roles, decorators, defaults, variables bound to what comes back.

Each makes a `Proposal` of `jaxlint.cst.changes`; nothing is edited here. Imports `changes` and `rebuilding`.
"""
