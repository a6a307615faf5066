"""chex (0.1.92): mutable unless `frozen=True`, no static fields, leaves in alphabetical order."""

from jaxlint.pytrees.model import Framework, LeafOrder, Unflatten

CHEX = Framework(
    id="chex",
    title="chex.dataclass",
    decorators=frozenset({"chex.dataclass"}),
    aliases={"chex._src.dataclass.dataclass": "chex.dataclass"},
    options={
        "chex.dataclass": frozenset(
            {"init", "repr", "eq", "order", "unsafe_hash", "frozen", "kw_only", "mappable_dataclass"}
        )
    },
    frozen=False,
    frozen_option=True,
    unflatten=Unflatten.POST_INIT,
    leaf_order=LeafOrder.ALPHABETICAL,
    replace_method="replace",
    replace_overwrites=True,
    keyword_only=True,
    reads_dict=True,
)
