"""Which expressions are instances of pytree classes, where these come from, and what is called with them.

`local_instances` says it of every expression of a body; most rules begin there. Imports `bodies`.
"""
