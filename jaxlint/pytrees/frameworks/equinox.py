"""equinox (0.13.8): `equinox.Module`, a frozen dataclass that may be assigned to while it is constructed."""

from jaxlint.pytrees.model import FieldFunction, Framework, Subclasses, Unflatten

EQUINOX = Framework(
    id="equinox",
    title="equinox.Module",
    bases=frozenset({"equinox.Module"}),
    aliases={
        "equinox._module.Module": "equinox.Module",
        "equinox._module._module.Module": "equinox.Module",
        "equinox._module.field": "equinox.field",
        "equinox._module._field.field": "equinox.field",
        "equinox._module.static_field": "equinox.static_field",
        "equinox._module._field.static_field": "equinox.static_field",
        "equinox._tree.tree_at": "equinox.tree_at",
        "equinox._update.apply_updates": "equinox.apply_updates",
    },
    subclasses=Subclasses.AUTO,
    constructing=frozenset({"__init__", "__post_init__", "__check_init__"}),
    assignable_in=frozenset({"__init__", "__post_init__"}),
    copies_are_open=True,
    unflatten=Unflatten.BYPASS,
    reads_dict=True,
    defines_eq=True,
    class_keywords=frozenset({"strict", "is_abstract"}),
    static_metadata=("static", True),
    field_functions={
        "equinox.field": FieldFunction(keywords={"static": "static"}, drops_false=True),
        "equinox.static_field": FieldFunction(fixed={"static": True}),
    },
    static_spelling="eqx.field(static=True)",
    compares_fields=False,
)
