"""The registration functions of `jax.tree_util` (0.4.35 to 0.12.0)."""

from jaxlint.pytrees.model import FieldFunction, Framework, Subclasses, Unflatten
from jaxlint.pytrees.versions import Fact

READS_FIELDS = Fact(
    "register-without-lists",
    of="jax",
    since=(0, 4, 36),
    says="`register_dataclass` reads the fields of the class itself where it is given no lists",
    otherwise=(
        "TypeError: register_dataclass() missing 2 required positional arguments: 'data_fields' and 'meta_fields'",
    ),
)
NEEDS_BOTH_LISTS = Fact(
    "register-with-one-list",
    of="jax",
    since=(0, 4, 36),
    says="`register_dataclass` asks for both lists where it is given one",
    now="TypeError: data_fields and meta_fields must both be specified when either is specified",
    otherwise=(
        "TypeError: 'NoneType' object is not iterable",
        "TypeError: register_dataclass() missing 1 required positional argument",
    ),
)
REFUSES_OVERLAP = Fact(
    "register-with-overlap",
    of="jax",
    since=(0, 9),
    says="`register_dataclass` refuses a field that is in `data_fields` and in `meta_fields`",
)
DROPS_ALONE = Fact(
    "drop-fields-alone",
    of="jax",
    since=(0, 11, 1),
    says="`register_dataclass` may be given `drop_fields` alone",
    otherwise=("ValueError: … Unexpected fields",),
)
HAS_TREE_STATIC = Fact(
    "tree-static",
    of="jax",
    since=(0, 9, 1),
    says="there is `jax.tree.static`, which declares a static field",
)
COMPARES_METADATA = Fact(
    "metadata-equality",
    of="jax",
    since=(0, 6, 2),
    says="the error of comparing arrays in static fields speaks of metadata fields",
    now="ValueError: Exception raised while checking equality of metadata fields of pytree",
    otherwise=(
        "ValueError: The truth value of an array with more than one element is ambiguous",
        "ValueError: operands could not be broadcast together",
        "ValueError: static arguments should be comparable using __eq__",
    ),
)

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
    facts=(READS_FIELDS, NEEDS_BOTH_LISTS, REFUSES_OVERLAP, DROPS_ALONE, HAS_TREE_STATIC, COMPARES_METADATA),
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
