"""treex (0.6.9) and treeo (0.0.9): mutable modules whose leaves are declared by kind."""

from jaxlint.pytrees.context import FieldContext
from jaxlint.pytrees.framework import Caching, FieldFunction, Framework, LeafOrder, Role, Subclasses, Unflatten

_KINDS = ("Parameter", "State", "Rng", "BatchStat", "Cache", "Log", "OptState", "ModelState", "MetricState", "TreePart")


def _role(field: FieldContext) -> Role:
    """A kind's `.node()` makes a leaf, an array without a kind is static; submodules are determined by value."""
    if field.annotated_with() in {"jax.Array", "numpy.ndarray", "builtins.int", "builtins.float", "builtins.str"}:
        return Role.STATIC
    return Role.UNKNOWN


TREEX = Framework(
    id="treex",
    title="treex.Module",
    bases=frozenset({"treex.Module", "treeo.Tree"}),
    aliases={"treex.module.Module": "treex.Module", "treeo.tree.Tree": "treeo.Tree"}
    | {f"treeo.{name}": f"treex.{name}" for name in ("node", "static", "field")}
    | {f"treex.types.{kind}": f"treex.{kind}" for kind in _KINDS},
    is_stateful=True,
    static_by_value=True,
    makes_dataclass=False,
    subclasses=Subclasses.AUTO,
    frozen=False,
    unflatten=Unflatten.BYPASS,
    leaf_order=LeafOrder.ALPHABETICAL,
    copying_methods=frozenset("train eval freeze unfreeze init filter merge map apply".split()),
    static_metadata=("node", False),
    role=_role,
    field_functions={
        "treex.node": FieldFunction(fixed={"node": True}, positional=("default",)),
        "treex.static": FieldFunction(fixed={"node": False}, positional=("default",)),
        "treex.field": FieldFunction(keywords={"node": "node"}, positional=("default",)),
        **{f"treex.{kind}.node": FieldFunction(fixed={"node": True}, positional=("default",)) for kind in _KINDS},
        **{f"treex.{kind}.static": FieldFunction(fixed={"node": False}, positional=("default",)) for kind in _KINDS},
    },
    static_spelling="tx.static()",
    looks_for="module",
    caching=Caching(
        "the cached value becomes an attribute of the tree, and jit compiles once more",
        "treeo flattens what is in the `__dict__` of an instance",
    ),
    compares_fields=False,
)
