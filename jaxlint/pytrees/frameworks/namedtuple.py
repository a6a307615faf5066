"""`typing.NamedTuple` and `collections.namedtuple`: pytrees by birth, without static fields."""

from jaxlint.pytrees.model import Framework, Subclasses

NAMED_TUPLE = Framework(
    id="NamedTuple",
    title="typing.NamedTuple",
    bases=frozenset({"typing.NamedTuple", "collections.namedtuple"}),
    subclasses=Subclasses.FIELDS_IGNORED,
    frozen_error="AttributeError",
    replace_method="_replace",
)
