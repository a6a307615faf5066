"""What is known of flax.linen: modules, whose parameters are no part of them."""

from __future__ import annotations

#: The base class of modules.
MODULE = "flax.linen.Module"
#: Its methods that are called from outside, and are given the parameters or make them.
METHODS = frozenset({"apply", "init"})
