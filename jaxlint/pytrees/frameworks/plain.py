"""Classes that are no pytrees: plain classes and standard dataclasses, as bases and for merging fields."""

from jaxlint.pytrees.framework import DATACLASS_OPTIONS, FieldFunction, Framework, Subclasses, Unflatten
from jaxlint.pytrees.versions import Fact

UNHASHABLE_REFUSED = Fact(
    "unhashable-default",
    of="python",
    since=(3, 11),
    says="dataclasses refuse every default that cannot be hashed, arrays among them, and not only list, dict and set",
)
ALL_BASES_COUNT = Fact(
    "frozen-bases",
    of="python",
    # Python 3.12.1 does not mind yet
    since=(3, 13),
    says="a frozen dataclass may have no base class that is not frozen, even if another base is",
)
EQ_GIVES_LAST = Fact(
    "eq-of-last-field",
    of="python",
    since=(3, 13),
    says="`==` of two instances gives what comparing their last field gives, and not always True or False",
)
NAMES_DEFAULT = Fact(
    "default-argument-named",
    of="python",
    since=(3, 13),
    says="the error of a field without a default after one with a default names both",
    now="TypeError: non-default argument … follows default argument '",
    otherwise=("TypeError: non-default argument … follows default argument",),
)

PLAIN_CLASS = Framework(
    id="class",
    title="a plain class",
    is_pytree=False,
    makes_dataclass=False,
    subclasses=Subclasses.FIELDS_IGNORED,
    frozen=False,
    unflatten=Unflatten.CUSTOM,
    compares_fields=False,
)

DATACLASS = Framework(
    id="dataclasses",
    title="dataclasses.dataclass",
    decorators=frozenset({"dataclasses.dataclass", "simple_pytree.dataclass", "flax.nnx.dataclass"}),
    options={
        "dataclasses.dataclass": DATACLASS_OPTIONS,
        "simple_pytree.dataclass": frozenset({"init", "repr", "eq", "order", "unsafe_hash", "frozen"}),
        "flax.nnx.dataclass": DATACLASS_OPTIONS - {"repr", "frozen"},
    },
    field_functions={"dataclasses.field": FieldFunction()},
    is_pytree=False,
    frozen=False,
    frozen_option=True,
    unflatten=Unflatten.CUSTOM,
    facts=(UNHASHABLE_REFUSED, ALL_BASES_COUNT, EQ_GIVES_LAST, NAMES_DEFAULT),
)
