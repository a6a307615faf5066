"""Infer: which expression is an instance of which pytree class, flow-sensitive and three-state.

`choosing` says which units are worth reading; `reading` goes through their statements, `evaluating` and `calls` through
expressions; what is known of a value is in `known`, what happens comes out as `events`. Imports `pytrees` and below.
"""
