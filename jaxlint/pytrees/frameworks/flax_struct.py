"""flax.struct (0.12.8): `@struct.dataclass` and `struct.PyTreeNode`, with TrainState (see `stubs/`)."""

from msgspec.structs import replace

from jaxlint.pytrees.framework import DATACLASS_OPTIONS, FieldFunction, Framework, InitFalse, Subclasses

FLAX_DATACLASS = Framework(
    id="flax.struct.dataclass",
    title="flax.struct.dataclass",
    decorators=frozenset({"flax.struct.dataclass"}),
    options={"flax.struct.dataclass": DATACLASS_OPTIONS},
    frozen_option=True,
    for_records=True,
    ignores_repeats=True,
    replace_method="replace",
    replace_overwrites=True,
    static_metadata=("pytree_node", False),
    field_functions={
        "flax.struct.field": FieldFunction(
            usual={"pytree_node": True}, keywords={"pytree_node": "pytree_node"}, positional=("pytree_node",)
        )
    },
    static_spelling="struct.field(pytree_node=False)",
    static_marking=("flax.struct.field", "pytree_node", "False"),
    field_function="flax.struct.field",
    init_false=InitFalse.REFUSED,
    sets_plainly=True,
)

FLAX_NODE = replace(
    FLAX_DATACLASS,
    id="flax.struct.PyTreeNode",
    title="flax.struct.PyTreeNode",
    decorators=frozenset(),
    bases=frozenset({"flax.struct.PyTreeNode"}),
    subclasses=Subclasses.AUTO,
    class_keywords=DATACLASS_OPTIONS,
    refused_keywords={"slots": "Cannot overwrite attribute __setattr__ in class"},
)
