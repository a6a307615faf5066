"""jaxlint as a flake8 plugin: the findings of `jaxlint check`, selected and suppressed by flake8.

    pip install "jaxlint-pytree[flake8]"
    flake8

Syntax errors are flake8's own (E999). Rules that are off by default are selected with `extend-select`.
"""

from jaxlint_flake8.plugin import Plugin

__all__ = ["Plugin"]
