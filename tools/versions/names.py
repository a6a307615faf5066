"""The public names of the modules in which frameworks say what a pytree is; run by the Python of any environment."""

from __future__ import annotations

import importlib
import json
import sys

#: Where a new name may register a class or mark a field, as `jax.tree.static` did.
MODULES = ("jax.tree", "jax.tree_util", "flax.struct", "flax.nnx", "equinox", "chex")


def public_names(module: str) -> list[str]:
    """The names without an underscore that a module has; none if there is no such module."""
    try:
        return sorted(name for name in vars(importlib.import_module(module)) if not name.startswith("_"))
    except ImportError:
        return []


if __name__ == "__main__":
    json.dump({module: public_names(module) for module in MODULES}, sys.stdout)
