"""Infer: which expression is an instance of which pytree class, flow-sensitive and three-state.

`triggers` chooses the units that are read, `reader` and `flow` read their statements, `evaluate` and `calls` their
expressions; what happens to instances comes out as `events`. Imports `pytrees` and what is below.
"""
