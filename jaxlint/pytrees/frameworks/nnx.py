"""flax.nnx (0.12.8): mutable, leaves determined by value, alphabetical order."""

from jaxlint.pytrees.context import FieldContext
from jaxlint.pytrees.framework import Caching, FieldFunction, Framework, LeafOrder, Role, Subclasses, Unflatten
from jaxlint.pytrees.versions import Fact

HAS_PYTREE = Fact(
    "nnx-pytree",
    of="flax",
    since=(0, 12, 1),
    says="there are `nnx.Pytree`, `nnx.data`, `nnx.static` and `nnx.dataclass`",
)

HIJAX_NEEDS_REFERENCES = Fact(
    "nnx-hijax-references",
    of="flax",
    since=(0, 12, 9),
    says="a hijax variable that is no reference cannot be written inside of a transformation",
)

REFUSES_CONTAINERS = Fact(
    "nnx-refuses-containers",
    of="flax",
    since=(0, 12, 1),
    says="a list, tuple or dict that holds data is refused in a static attribute",
)


def _role(field: FieldContext) -> Role:
    """`nnx.static(...)` and `nnx.data(...)` decide; otherwise the value does, if its annotation tells what it is."""
    if field.metadata.get("static") is False and "static" in field.metadata:
        return Role.LEAF
    text = field.annotated_with()
    if text in {"builtins.int", "builtins.float", "builtins.str", "builtins.bool"}:
        return Role.STATIC
    if text in {"jax.Array", "numpy.ndarray"}:
        return Role.LEAF
    return Role.UNKNOWN


NNX = Framework(
    id="flax.nnx",
    base_methods=frozenset("eval iter_children iter_modules perturb set_attributes sow train".split()),
    title="flax.nnx.Pytree",
    bases=frozenset({"flax.nnx.Pytree", "flax.nnx.Module", "flax.nnx.Object"}),
    aliases={
        "flax.nnx.pytreelib.Pytree": "flax.nnx.Pytree",
        "flax.nnx.pytreelib.data": "flax.nnx.data",
        "flax.nnx.pytreelib.static": "flax.nnx.static",
        "flax.nnx.pytreelib.Static": "flax.nnx.Static",
        "flax.nnx.pytreelib.dataclass": "flax.nnx.dataclass",
        "flax.nnx.module.Module": "flax.nnx.Module",
        "flax.nnx.object.Object": "flax.nnx.Object",
    },
    is_stateful=True,
    data_by_value=True,
    transformations="flax.nnx",
    static_by_value=True,
    makes_dataclass=False,
    subclasses=Subclasses.FIELDS_IGNORED,
    frozen=False,
    unflatten=Unflatten.BYPASS,
    reads_dict=True,
    marks_stay=True,
    register_keyword="pytree",
    class_keywords=frozenset({"pytree", "experimental_pytree"}),
    leaf_order=LeafOrder.ALPHABETICAL,
    static_metadata=("static", True),
    role=_role,
    field_functions={
        "flax.nnx.static": FieldFunction(fixed={"static": True}, positional=("value",), unmarked="flax.nnx.data"),
        "flax.nnx.data": FieldFunction(fixed={"static": False}, positional=("value",)),
    },
    static_spelling="nnx.static()",
    static_words=frozenset({"flax.nnx.Static"}),
    known_names=frozenset({"flax.nnx.Static"}),
    refuses_slots="Pytree currently does not support __slots__",
    refuses_other_marks=True,
    static_array="nnx refuses the instance (ValueError: Found unexpected data)",
    caching=Caching(
        "the cached value becomes a static attribute, and jit compiles once more, or fails if it is an array",
        "nnx flattens what is in the `__dict__` of an instance, and a value that is cached inside of jit is a tracer",
        harms_by_arrays=True,
    ),
    facts=(HAS_PYTREE, HIJAX_NEEDS_REFERENCES, REFUSES_CONTAINERS),
)
