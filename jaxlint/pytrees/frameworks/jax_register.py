"""The registration functions of `jax.tree_util` (0.4.35 to 0.12.0)."""

from jaxlint.pytrees.framework import FieldFunction, Framework, InitFalse, Subclasses, Unflatten
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
DROPS_BY_NAME = Fact(
    "drop-fields-by-name",
    of="jax",
    since=(0, 10),
    says="`drop_fields` holds names, and not the letters of names",
)
DROPS_ALONE = Fact(
    "drop-fields-alone",
    of="jax",
    since=(0, 11, 1),
    says="`register_dataclass` may be given `drop_fields` alone",
    otherwise=(
        "ValueError: … Unexpected fields",
        "TypeError: register_dataclass() missing 2 required positional arguments: 'data_fields' and 'meta_fields'",
    ),
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
ARRAY_OF_NONE = Fact(
    "array-of-none",
    of="jax",
    since=(0, 6),
    says="`jnp.asarray(None)` raises ValueError, and makes no array of nan",
    now="ValueError: None is not a valid value",
    otherwise=("nothing",),
)
PLACEHOLDERS = Fact(
    "vmap-placeholders",
    of="jax",
    until=(0, 8),
    says="`vmap` rebuilds instances with `object()` for its leaves",
)
KERNELS_STORE_ITEMS = Fact(
    "kernels-store-items",
    of="jax",
    since=(0, 5, 1),
    says="`ref.at[i].set(...)` in a kernel of pallas stores the item `i`",
)
TAKES_ARRAY_LIKE = Fact(
    "select-array-like",
    of="jax",
    since=(0, 6, 1),
    says="`jnp.where` takes a pytree that has the method `__jax_array__`",
)
TELLS_METADATA = Fact(
    "tree-map-metadata",
    of="jax",
    since=(0, 10, 2),
    says="`jax.tree.map` over instances with different static values says where they differ",
    now="ValueError: pytree structure error: different pytree metadata",
    otherwise=("ValueError: Mismatch custom",),
)
MAPS_NO_STRINGS = Fact(
    "vmap-of-strings",
    of="jax",
    since=(0, 7, 2),
    says="`vmap` says of a string that it is no valid type, and does not ask for its axes",
    otherwise=("ValueError: vmap was requested to map its argument along axis 0",),
)
NAMES_RETURNED = Fact(
    "jit-returns",
    of="jax",
    since=(0, 6, 2),
    says="`jit` says which function has returned what is no array",
    now="TypeError: … returned a value of type … which is not a valid JAX type",
    otherwise=("TypeError: … is not a valid JAX type",),
)
HAS_REFERENCES = Fact("references", of="jax", since=(0, 7, 2), says="there is `jax.new_ref`")
SLICES_BY_INTEGERS = Fact(
    "traced-slice",
    of="jax",
    since=(0, 8, 2),
    until=(0, 11, 1),
    says="a traced bound of a slice has an error of its own",
    now="IndexError: Slice entries must be static integers",
    otherwise=("IndexError: Array slice indices must have static start/stop/step",),
)
NAMES_PROBLEM = Fact(
    "not-an-array",
    of="jax",
    since=(0, 9, 2),
    says="functions of `lax` name the type of what is no array",
    now="TypeError: … as a JAX value. The problematic value is of type …",
    otherwise=("TypeError: … is not a valid JAX type",),
)
TRACERS_HAVE_NO_HASH = Fact(
    "traced-static",
    of="jax",
    since=(0, 4, 36),
    says="a traced value cannot be hashed, and so be no static argument",
    now="ValueError: Non-hashable static arguments are not supported. … to hash an object of type …Tracer",
    otherwise=("nothing",),
)

#: What people write for `jax.tree_util.register_dataclass`: there is no such function.
MISSING_FUNCTION = "jax.tree.register_dataclass"

REGISTER_DATACLASS = Framework(
    id="jax.tree_util.register_dataclass",
    title="jax.tree_util.register_dataclass",
    decorators=frozenset({"jax.tree_util.register_dataclass", MISSING_FUNCTION}),
    makes_dataclass=False,
    for_records=True,
    registered_by_hand=True,
    lists_fields=True,
    by_lists=True,
    frozen=None,
    static_metadata=("static", True),
    field_functions={
        "jax.tree.static": FieldFunction(fixed={"static": True}, user_wins=True, unmarked="dataclasses.field")
    },
    static_spelling="dataclasses.field(metadata=dict(static=True))",
    static_marking=("dataclasses.field", "metadata", '{"static": True}'),
    init_false=InitFalse.REFUSED,
    sets_plainly=True,
    facts=(
        READS_FIELDS,
        NEEDS_BOTH_LISTS,
        REFUSES_OVERLAP,
        DROPS_BY_NAME,
        DROPS_ALONE,
        HAS_TREE_STATIC,
        COMPARES_METADATA,
        ARRAY_OF_NONE,
        PLACEHOLDERS,
        KERNELS_STORE_ITEMS,
        TAKES_ARRAY_LIKE,
        TELLS_METADATA,
        MAPS_NO_STRINGS,
        NAMES_RETURNED,
        HAS_REFERENCES,
        SLICES_BY_INTEGERS,
        NAMES_PROBLEM,
        TRACERS_HAVE_NO_HASH,
    ),
)

#: The functions that are given how to take instances apart and make them, and whether keys stand beside the children.
FLATTENING = {
    "jax.tree_util.register_pytree_node": False,
    "jax.tree_util.register_pytree_with_keys": True,
}
#: The decorators that take methods of the class for that: the one that takes instances apart, and the function.
BY_METHODS = {
    "jax.tree_util.register_pytree_node_class": ("tree_flatten", "jax.tree_util.register_pytree_node"),
    "jax.tree_util.register_pytree_with_keys_class": (
        "tree_flatten_with_keys",
        "jax.tree_util.register_pytree_with_keys",
    ),
}

PYTREE_NODE_CLASS = Framework(
    id="jax.tree_util.register_pytree_node_class",
    title="jax.tree_util.register_pytree_node_class",
    decorators=frozenset({*BY_METHODS, *FLATTENING}),
    makes_dataclass=False,
    registered_by_hand=True,
    flattens_itself=True,
    frozen=None,
    unflatten=Unflatten.CUSTOM,
    static_spelling="aux data of tree_flatten",
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
