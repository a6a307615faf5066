"""`typing.NamedTuple` and `collections.namedtuple`: pytrees by birth, without static fields."""

from jaxlint.pytrees.framework import Framework, Subclasses
from jaxlint.pytrees.versions import Fact

REPLACE_RAISES_TYPE_ERROR = Fact(
    "namedtuple-replace",
    of="python",
    since=(3, 13),
    says="`_replace` of a named tuple raises TypeError for a name that is no field, and not ValueError",
    now="TypeError: Got unexpected field names",
    otherwise=("ValueError: Got unexpected field names",),
)

NAMED_TUPLE = Framework(
    id="NamedTuple",
    title="typing.NamedTuple",
    bases=frozenset({"typing.NamedTuple", "collections.namedtuple"}),
    is_tuple=True,
    subclasses=Subclasses.FIELDS_IGNORED,
    frozen_error="AttributeError",
    replace_method="_replace",
    facts=(REPLACE_RAISES_TYPE_ERROR,),
)
