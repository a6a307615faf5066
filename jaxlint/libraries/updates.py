"""Functions and methods of libraries that make a copy with changes, by name."""

from __future__ import annotations

from collections.abc import Mapping

#: The one of equinox whose first argument is a function that selects what is replaced.
TREE_AT = "equinox.tree_at"
#: Functions that copy an instance with changes: `function(instance, field=value)`.
REPLACE_FUNCTIONS = frozenset({"dataclasses.replace", "jax_dataclasses.replace", "copy.replace"})
#: Other functions that copy what is their argument at the given position, with changes.
UPDATE_FUNCTIONS: Mapping[str, int] = {
    TREE_AT: 1,
    "equinox.apply_updates": 0,
    "optax.apply_updates": 0,
    "optax.incremental_update": 1,
    "jax.lax.dynamic_update_slice": 0,
    "jax.lax.dynamic_update_slice_in_dim": 0,
    "jax.lax.dynamic_update_index_in_dim": 0,
}
#: Those of them that make an instance of an instance.
OF_INSTANCES = frozenset({TREE_AT, "equinox.apply_updates"})
#: Those of them that add the updates of an optimizer to parameters.
APPLYING_UPDATES = frozenset({"equinox.apply_updates", "optax.apply_updates"})
#: The context manager of jax_dataclasses that gives out a copy which may be changed in place, and its last name.
MUTABLE_COPY = "copy_and_mutate"
COPY_AND_MUTATE = f"jax_dataclasses.{MUTABLE_COPY}"
#: What copies an instance and leaves in the copy what its fields hold, but for those that are given by keyword.
SHALLOW_COPIES = REPLACE_FUNCTIONS | {"copy.copy", COPY_AND_MUTATE}
COPIES = frozenset({"copy.copy", "copy.deepcopy"})
#: Functions that return their argument, or a copy of it, of the same class.
GIVE_SAME = COPIES | frozenset(
    {
        "jax.device_put",
        "jax.block_until_ready",
        "jax.lax.stop_gradient",
        "jax.lax.pmean",
        "jax.lax.psum",
        "jax.lax.pmax",
        "jax.lax.pmin",
        "jax.lax.ppermute",
        "jax.lax.all_gather",
        "jax.lax.optimization_barrier",
        "jax.lax.with_sharding_constraint",
        "jax.device_put_replicated",
        "equinox.filter_shard",
        "equinox.error_if",
        "flax.jax_utils.replicate",
        "flax.jax_utils.unreplicate",
        "typing.cast",
    }
)
#: Functions that copy their first argument, with all flags of a mode set or put on devices, and how many arguments make
#: them do it: `jax.device_put(x)` alone may only be there to be waited for.
MOVED_COPIES: Mapping[str, int] = {
    "equinox.nn.inference_mode": 1,
    "equinox.tree_inference": 1,
    "jax.device_put": 2,
}
#: Functions that fill a copy of their first argument, if that is an instance, with what was stored.
RESTORING = frozenset({"flax.serialization.from_bytes", "flax.serialization.from_state_dict"})
#: Functions that fill a copy of their second argument, if that is an instance, with what a file holds.
LOADING = frozenset({"flax.training.checkpoints.restore_checkpoint"})
#: Packages whose states are copied by a method `replace`.
WITH_STATES = frozenset({"jax", "flax", "chex", "brax", "gymnax", "jumanji", "craftax", "mujoco"})
#: What `TrainState.apply_gradients` sets besides its keywords.
BY_GRADIENTS = frozenset({"step", "params", "opt_state"})
#: The class of flax that holds the state of a training, and is known wherever it is imported from.
TRAIN_STATE = "flax.training.train_state.TrainState"
#: The package in which that and its kin are.
TRAINING = "flax.training"
#: The names under which frameworks give instances a method that copies them with changes.
COPYING_NAMES = frozenset({"replace", "_replace"})
#: The names under which decorators of projects do: `set` in jax_md.
OTHER_COPYING_NAMES = frozenset({"set", "update", "updated", "evolve", "copy"})
#: Methods by whose name an update may be known where its receiver is not.
UPDATE_METHODS = COPYING_NAMES | {"tree_replace", "apply_gradients"}
#: The property of arrays whose items have methods that make a copy.
AT = "at"
#: The function that makes a selection of a tree, and the methods of selections that copy the tree with changes.
SELECT = "penzai.pz.select"
SELECTION_COPIES = frozenset(
    """set apply set_sequence set_by_path select_and_set_by_path apply_and_inline remove_from_parent insert_after
    insert_before apply_with_selected_index""".split()
)
#: The methods of selections that return another selection.
SELECTION_CHOICES = frozenset(
    """at where refine invert at_pytree_leaves at_children at_subtrees_where at_instances_of at_equal_to at_keypaths
    at_childless pick_nth_selected assert_count_is flatten_selected_selections""".split()
)
