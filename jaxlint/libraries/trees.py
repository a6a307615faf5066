"""The functions of jax that go through trees, by all names that they had or have."""

from __future__ import annotations


def _names(name: str, old: str) -> frozenset[str]:
    return frozenset({f"jax.tree.{name}", f"jax.tree_util.{old}", f"jax.{old}"})


#: Functions that make a tree of trees.
TREE_MAPS = _names("map", "tree_map")
#: Functions that list the leaves of a tree, and those that give its structure besides.
TREE_LEAVES = _names("leaves", "tree_leaves")
TREE_FLATTEN = _names("flatten", "tree_flatten")
