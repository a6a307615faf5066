"""The functions that go through trees, by all names that they had or have, and types of trees."""

from __future__ import annotations


def _names(name: str, old: str) -> frozenset[str]:
    return frozenset({f"jax.tree.{name}", f"jax.tree_util.{old}", f"jax.{old}"})


#: Functions that make a tree of trees.
TREE_MAPS = _names("map", "tree_map")
#: Functions that list the leaves of a tree, and those that give its structure besides.
TREE_LEAVES = _names("leaves", "tree_leaves")
TREE_FLATTEN = _names("flatten", "tree_flatten")
#: Functions that give the structure of a tree alone, and those that make a tree of a structure and leaves.
TREE_STRUCTURE = _names("structure", "tree_structure")
TREE_UNFLATTEN = _names("unflatten", "tree_unflatten")
#: What makes one array of all leaves, and gives the function that makes a tree of such an array.
RAVEL = "jax.flatten_util.ravel_pytree"
#: The functions of equinox that take some leaves out of a tree, and that make two trees of one.
FILTER = "equinox.filter"
PARTITION = "equinox.partition"
#: The dictionary of flax that cannot be changed.
FROZEN_DICT = "flax.core.FrozenDict"
#: Annotations of what is a tree, whatever it is made of.
TREE_TYPES = frozenset(
    f"chex.ArrayTree {FROZEN_DICT} jaxtyping.PyTree optax.OptState optax.Params optax.Updates".split()
)
