"""The registration functions of `jax.tree_util` (0.10.2)."""

from jaxlint.pytrees.model import FieldFunction, Framework, Subclasses, Unflatten

REGISTER_DATACLASS = Framework(
    id="jax.tree_util.register_dataclass",
    title="jax.tree_util.register_dataclass",
    # the second does not exist, and is written nevertheless
    decorators=frozenset({"jax.tree_util.register_dataclass", "jax.tree.register_dataclass"}),
    makes_dataclass=False,
    frozen=None,
    static_metadata=("static", True),
    field_functions={"jax.tree.static": FieldFunction(fixed={"static": True}, user_wins=True)},
    static_spelling="dataclasses.field(metadata=dict(static=True))",
)

PYTREE_NODE_CLASS = Framework(
    id="jax.tree_util.register_pytree_node_class",
    title="jax.tree_util.register_pytree_node_class",
    decorators=frozenset(
        {
            "jax.tree_util.register_pytree_node_class",
            "jax.tree_util.register_pytree_with_keys_class",
            "jax.tree_util.register_pytree_node",
            "jax.tree_util.register_pytree_with_keys",
        }
    ),
    makes_dataclass=False,
    frozen=None,
    unflatten=Unflatten.CUSTOM,
    static_spelling="aux data of tree_flatten",
    compares_fields=False,
)

REGISTER_STATIC = Framework(
    id="jax.tree_util.register_static",
    title="jax.tree_util.register_static",
    decorators=frozenset({"jax.tree_util.register_static"}),
    makes_dataclass=False,
    frozen=None,
    subclasses=Subclasses.OPAQUE,
    unflatten=Unflatten.BYPASS,
    is_opaque=True,
    static_spelling="jax.tree_util.register_static",
)
