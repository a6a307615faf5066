"""treex (0.6.9) and treeo (0.0.9): mutable modules whose leaves are declared by kind."""

from functools import partial

from jaxlint.pytrees.context import FieldContext
from jaxlint.pytrees.framework import Caching, FieldFunction, Framework, LeafOrder, Role, Subclasses, Unflatten

_KINDS = ("Parameter", "State", "Rng", "BatchStat", "Cache", "Log", "OptState", "ModelState", "MetricState", "TreePart")


def _role(field: FieldContext) -> Role:
    """A kind's `.node()` makes a leaf, an array without a kind is static; submodules are determined by value."""
    if field.annotated_with() in {"jax.Array", "numpy.ndarray", "builtins.int", "builtins.float", "builtins.str"}:
        return Role.STATIC
    return Role.UNKNOWN


#: What declares a field takes the default first.
_marking = partial(FieldFunction, positional=("default",), is_unlike_field=True)

TREEX = Framework(
    id="treex",
    title="treex.Module",
    bases=frozenset({"treex.Module", "treeo.Tree"}),
    aliases={"treex.module.Module": "treex.Module", "treeo.tree.Tree": "treeo.Tree"}
    | {f"treeo.{name}": f"treex.{name}" for name in ("node", "static", "field")}
    | {f"treex.types.{kind}": f"treex.{kind}" for kind in _KINDS},
    is_stateful=True,
    static_by_value=True,
    fields_by_annotation=True,
    key_is_ambiguous=True,
    makes_dataclass=False,
    subclasses=Subclasses.AUTO,
    frozen=False,
    unflatten=Unflatten.BYPASS,
    leaf_order=LeafOrder.ALPHABETICAL,
    copying_methods=frozenset("train eval freeze unfreeze init filter merge map apply".split()),
    static_metadata=("node", False),
    role=_role,
    field_functions={
        "treex.node": _marking(fixed={"node": True}),
        "treex.static": _marking(fixed={"node": False}),
        "treex.field": _marking(keywords={"node": "node"}),
        **{f"treex.{kind}.node": _marking(fixed={"node": True}) for kind in _KINDS},
        **{f"treex.{kind}.static": _marking(fixed={"node": False}) for kind in _KINDS},
    },
    static_spelling="tx.static()",
    looks_for="module",
    caching=Caching(
        "the cached value becomes an attribute of the tree, and jit compiles once more",
        "treeo flattens what is in the `__dict__` of an instance",
    ),
    compares_fields=False,
)
