"""Classes that are no pytrees: plain classes and standard dataclasses, as bases and for merging fields."""

from jaxlint.pytrees.model import FieldFunction, Framework, Subclasses, Unflatten

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
    field_functions={"dataclasses.field": FieldFunction()},
    is_pytree=False,
    frozen=False,
    frozen_option=True,
    unflatten=Unflatten.CUSTOM,
)
