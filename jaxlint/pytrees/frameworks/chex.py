"""chex (0.1.92): mutable unless `frozen=True`, no static fields, leaves in alphabetical order."""

from jaxlint.pytrees.framework import Caching, Framework, LeafOrder, Unflatten
from jaxlint.pytrees.versions import Fact

#: What an attribute that is no field of a frozen mappable class raises: its methods belong to the class before.
SUPER_NAMES_OBJECT = Fact(
    "super-of-another-class",
    of="python",
    since=(3, 13),
    says="`super()` names the object that is of another class",
    now="TypeError: super(type, obj): obj … is not an instance or subtype of type",
    otherwise=("TypeError: super(type, obj): obj must be an instance or subtype of type",),
)

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
    mapping_option="mappable_dataclass",
    unknown_name_error="ValueError",
    added_methods=("to_tuple", "from_tuple", "__getstate__", "__setstate__"),
    refused_names=frozenset({"replace", "to_tuple", "from_tuple"}),
    sets_plainly=True,
    reads_dict=True,
    registers_late=True,
    registers_anyway=True,
    refuses_slots_below=True,
    checks_each_base=True,
    caching=Caching("the cached value becomes one more leaf", "chex flattens what is in the `__dict__` of an instance"),
    facts=(SUPER_NAMES_OBJECT,),
)
