"""The classes that most cases are about, and what stands before a case."""

from __future__ import annotations

FROZEN = """
@class S
    x: jax.Array
    n: int = 0
"""
NOTED = """
@class S
    x: jax.Array
    n: int = 0
    note: t.Any = None
"""
NAMED = """
@class S
    x: jax.Array
    n: int = 0
    s: str = "a"
"""
SELF = "from typing_extensions import Self\n"
ONE = "# only: flax"
