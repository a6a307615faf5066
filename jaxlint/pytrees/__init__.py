"""Pytrees: what each class of a project is as a pytree, for every framework.

`build` makes a `PytreeClass` (`model`) from a declaration: fields, roles, bases, registration, how it is rebuilt. What
a framework does is declared in `frameworks/`, one file each. Imports `project` and what is below.
"""
