"""equinox (0.13.8): `equinox.Module`, a frozen dataclass that may be assigned to while it is constructed."""

from jaxlint.pytrees.model import FieldFunction, Framework, InitFalse, Subclasses, Unflatten
from jaxlint.pytrees.versions import Fact

NEW_IS_OPEN = Fact(
    "module-new-is-open",
    of="equinox",
    since=(0, 13),
    says="an instance that `__new__` or `copy.copy` makes may be assigned to, not only one that is being constructed",
)
IS_NO_FROZEN_DATACLASS = Fact(
    "module-under-dataclass",
    of="equinox",
    since=(0, 13),
    says="the dataclass machinery does not take a module for a frozen dataclass",
)
WARNS_OF_INIT_FALSE = Fact(
    "module-init-false",
    of="equinox",
    since=(0, 13, 3),
    says="a field with `init=False` is warned of",
)
NAMES_UNSET_FIELD = Fact(
    "module-unset-field",
    of="equinox",
    since=(0, 13, 3),
    says="a field that the constructor leaves out raises TypeError, and names the first only",
    now="TypeError: Field '…' was not initialized",
    otherwise=("ValueError: The following fields were not initialised during __init__",),
)

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
    checks_fields=True,
    hashes_fields=True,
    filters=True,
    copy_function="equinox.tree_at",
    deletion="removes the leaf, and the instance no longer matches others; set it to None with `eqx.tree_at`",
    init_false=InitFalse.WARNED,
    class_keywords=frozenset({"strict", "is_abstract"}),
    static_metadata=("static", True),
    field_functions={
        "equinox.field": FieldFunction(keywords={"static": "static"}, drops_false=True),
        "equinox.static_field": FieldFunction(fixed={"static": True}, unmarked="equinox.field"),
    },
    static_spelling="eqx.field(static=True)",
    static_marking=("equinox.field", "static", "True"),
    field_function="equinox.field",
    compares_fields=False,
    facts=(NEW_IS_OPEN, IS_NO_FROZEN_DATACLASS, WARNS_OF_INIT_FALSE, NAMES_UNSET_FIELD),
)
