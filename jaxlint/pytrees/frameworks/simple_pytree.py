"""simple_pytree (0.2.2): `Pytree`, immutable after `__init__` unless `mutable=True` on the class itself."""

from jaxlint.finding import Severity
from jaxlint.pytrees.framework import Caching, FieldFunction, Framework, LeafOrder, Subclasses, Unflatten

SIMPLE_PYTREE = Framework(
    id="simple_pytree",
    title="simple_pytree.Pytree",
    bases=frozenset({"simple_pytree.Pytree"}),
    aliases={
        f"simple_pytree.{module}.{name}": f"simple_pytree.{name}"
        for module in ("pytree", "dataclass")
        for name in ("Pytree", "dataclass", "field", "static_field")
    },
    makes_dataclass=False,
    subclasses=Subclasses.FIELDS_IGNORED,
    frozen_error="AttributeError",
    deletion="makes the next flattening fail (KeyError); build a new instance",
    assignable_in=frozenset({"__init__", "__post_init__"}),
    unflatten=Unflatten.BYPASS,
    reads_dict=True,
    marks_stay=True,
    static_stays=True,
    counts_plain_marks=True,
    obeys_setters=True,
    fields_in_init=True,
    mutable_keyword="mutable",
    class_keywords=frozenset({"mutable"}),
    leaf_order=LeafOrder.ALPHABETICAL,
    replace_method="replace",
    static_metadata=("pytree_node", False),
    field_functions={
        "simple_pytree.field": FieldFunction(keywords={"pytree_node": "pytree_node"}),
        "simple_pytree.static_field": FieldFunction(fixed={"pytree_node": False}, unmarked="simple_pytree.field"),
    },
    for_records=True,
    caching=Caching(
        "an instance whose value is cached cannot be flattened any more (ValueError)",
        "simple_pytree compares the `__dict__` of an instance with its fields, and refuses what is new",
        severity=Severity.ERROR,
    ),
    static_spelling="static_field()",
    static_marking=("simple_pytree.field", "pytree_node", "False"),
)
