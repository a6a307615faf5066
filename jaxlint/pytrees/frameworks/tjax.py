"""tjax (1.3 to 1.9): `tjax.dataclasses.dataclass`, frozen by default."""

from jaxlint.pytrees.framework import FieldFunction, Framework, InitFalse

TJAX = Framework(
    id="tjax",
    title="tjax.dataclasses.dataclass",
    decorators=frozenset({"tjax.dataclasses.dataclass"}),
    aliases={
        "tjax.dataclass": "tjax.dataclasses.dataclass",
        "tjax._src.dataclasses.dataclass": "tjax.dataclasses.dataclass",
        "tjax._src.dataclasses.dataclass.dataclass": "tjax.dataclasses.dataclass",
        "tjax._src.dataclasses.helpers.field": "tjax.dataclasses.field",
    },
    options={"tjax.dataclasses.dataclass": frozenset({"init", "repr", "eq", "order", "frozen"})},
    frozen_option=True,
    for_records=True,
    init_false=InitFalse.DROPPED,
    set_names=frozenset({"static_fields", "dynamic_fields"}),
    static_metadata=("static", True),
    field_functions={"tjax.dataclasses.field": FieldFunction(keywords={"static": "static"})},
    static_spelling="field(static=True)",
    static_marking=("tjax.dataclasses.field", "static", "True"),
)
