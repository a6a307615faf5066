"""equinox (0.13.8): `equinox.Module`, a frozen dataclass that may be assigned to while it is constructed."""

from jaxlint.finding import Severity
from jaxlint.pytrees.framework import Caching, FieldFunction, Framework, InitFalse, Subclasses, Unflatten
from jaxlint.pytrees.versions import Fact

#: How the names of its layers begin.
LAYERS = "equinox.nn."
#: The leaves of layers that are None if the constructor is given `use_bias=False`.
EMPTY_WITHOUT = {"bias": "use_bias", "weight": "use_weight"}

#: What the functions that declare fields take of their own.
_FURTHER = frozenset({"converter"})

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
    since=(0, 13),
    says="an array in a field with `init=False` is warned of",
)
NAMES_UNSET_FIELD = Fact(
    "module-unset-field",
    of="equinox",
    since=(0, 13, 3),
    says="the error of fields that the constructor leaves out names the first of them only",
    now="TypeError: Field '…' was not initialized",
    otherwise=(
        "ValueError: The following fields were not initialised during __init__",
        "TypeError: The following fields were not initialised during __init__",
    ),
)
TAKES_ABSTRACT_BASE = Fact(
    "module-over-abstract",
    of="equinox",
    since=(0, 13),
    says="a module may have an abstract base class that is no module",
)
STRICT_ALONE = Fact(
    "module-strict",
    of="equinox",
    since=(0, 13),
    says="a module with `strict=True` may inherit from one that is not strict",
)
NO_CONVERTER = Fact(
    "module-no-converter",
    of="equinox",
    since=(0, 13),
    says="`eqx.field` takes `converter=None`",
)
IS_MADE_INSIDE = Fact(
    "module-made-inside",
    of="equinox",
    since=(0, 13),
    says="while an instance is constructed, `type(self)` may be called",
)
DELETES_FIELDS = Fact(
    "module-deletion",
    of="equinox",
    since=(0, 13),
    says="`del` takes a field from an instance, and is not refused",
)
IS_PRINTED = Fact(
    "module-printed",
    of="equinox",
    since=(0, 11, 12),
    says="a module whose `__getattr__` raises KeyError can be printed",
)
RAISES_TYPE_ERROR = Fact(
    "module-unset-type",
    of="equinox",
    since=(0, 13),
    says="a field that the constructor leaves out raises TypeError, and not ValueError",
)
REFUSES_AS_FROZEN = Fact(
    "module-undeclared-field",
    of="equinox",
    since=(0, 13),
    says="assigning to what is no field raises FrozenInstanceError, and not plain AttributeError",
)
FLATTENS_DICT = Fact(
    "module-flattens-dict",
    of="equinox",
    since=(0, 13, 3),
    says="the structure of an instance holds all of its `__dict__`, and not the fields alone",
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
    wants_all_fields=True,
    refuses_methods=True,
    hashes_fields=True,
    filters=True,
    copy_function="equinox.tree_at",
    copies_leaves=True,
    deletion="removes the leaf, and the instance no longer matches others; set it to None with `eqx.tree_at`",
    deletion_fact=DELETES_FIELDS,
    init_false=InitFalse.WARNED,
    class_keywords=frozenset({"strict", "is_abstract"}),
    young_keywords={"strict": STRICT_ALONE},
    static_metadata=("static", True),
    field_functions={
        "equinox.field": FieldFunction(keywords={"static": "static"}, drops_false=True, further=_FURTHER),
        "equinox.static_field": FieldFunction(fixed={"static": True}, unmarked="equinox.field", further=_FURTHER),
    },
    static_spelling="eqx.field(static=True)",
    static_marking=("equinox.field", "static", "True"),
    field_function="equinox.field",
    compares_fields=False,
    keeps_inherited_init=True,
    abstract_fields=frozenset({"AbstractVar", "AbstractClassVar"}),
    freezes_itself=IS_NO_FROZEN_DATACLASS,
    converters=True,
    static_array="equinox warns, and jit fails on the second instance (ValueError)",
    caching=Caching(
        "an instance whose value is cached is compiled for once more",
        "equinox flattens the `__dict__` of an instance, and the cached value changes what it finds there",
        severity=Severity.INFO,
        is_harmless=True,
        fact=FLATTENS_DICT,
    ),
    facts=(
        *(NEW_IS_OPEN, IS_NO_FROZEN_DATACLASS, WARNS_OF_INIT_FALSE, NAMES_UNSET_FIELD, TAKES_ABSTRACT_BASE),
        *(STRICT_ALONE, NO_CONVERTER),
        *(IS_MADE_INSIDE, DELETES_FIELDS, IS_PRINTED, RAISES_TYPE_ERROR, REFUSES_AS_FROZEN, FLATTENS_DICT),
    ),
)
