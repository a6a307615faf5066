"""Whether instances of a class can be hashed, and what their hash is made of."""

from __future__ import annotations

from jaxlint.pytrees.frameworks import PLAIN_CLASS
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.expressions import is_none


def is_hashable(cls: PytreeClass) -> bool | None:
    """Whether `hash` accepts the instances, their contents aside: what the first class of the MRO to say so says."""
    for ancestor in cls.mro:
        answer = _own_hash(ancestor)
        if answer != "inherited":
            return None if answer == "unknown" else answer == "yes"
        if ancestor.root_first and ancestor.framework.defines_eq:
            return True
        if _is_made_over(ancestor):
            return None
    if any(c.params and c.is_mapping is not False for c in cls.mro):
        return False  # collections.abc.Mapping has __eq__ and no __hash__
    return None if any(c.framework is PLAIN_CLASS and not c.fields_known for c in cls.mro) else True


def _is_made_over(cls: PytreeClass) -> bool:
    """Whether a base class that cannot be seen, or one that asks for it, may put methods on the class when it is made.

    So does `flax.linen.Module`, which makes a dataclass with a hash of each of its subclasses.
    """
    return not cls.bases_known or any("__init_subclass__" in one.symbol.declaration.methods for one in cls.mro)


def _own_hash(cls: PytreeClass) -> str:
    """What the class itself says of `__hash__`: "yes", "no", "inherited" or "unknown"."""
    if cls.unknown_decorator or cls.symbol.declaration.conditional_body:
        return "unknown"
    declaration = cls.symbol.declaration
    if f"{cls.name}.__hash__" in cls.module.outline.attributes_set:
        return "unknown"
    for assignment in declaration.assignments:
        if assignment.name == "__hash__":
            return "no" if is_none(assignment.value) else "yes"
    if "__hash__" in declaration.methods:
        return "yes"
    compares = cls.says_itself("__eq__")
    if cls.framework.is_tuple:
        return "no" if compares else "inherited"
    params = cls.params
    if params is not None:
        if None in (params.eq, params.frozen, params.unsafe_hash):
            return "unknown"
        if params.unsafe_hash or (params.eq and params.frozen):
            return "yes"
        if params.eq:
            return "no"
    return "no" if compares else "inherited"


def hashes_fields(cls: PytreeClass) -> bool:
    """Whether the hash of an instance is certainly made of the hashes of its fields.

    That is so for dataclasses that are frozen (or asked to), for named tuples and for equinox modules.
    """
    for ancestor in cls.mro:
        answer = _own_hash(ancestor)
        if answer == "inherited":
            if ancestor.framework.is_tuple or (ancestor.framework.hashes_fields and ancestor.root_first):
                return True
            continue
        generated = ancestor.params is not None and not ancestor.says_itself("__hash__")
        return answer == "yes" and generated
    return cls.framework.hashes_fields


def hashes_identity(cls: PytreeClass) -> bool:
    """Whether an instance is certainly hashed by its identity: no class of the MRO says anything of equality."""
    if not cls.bases_known or cls.framework.defines_eq or is_hashable(cls) is not True:
        return False
    return all(_own_hash(ancestor) == "inherited" for ancestor in cls.mro) and not hashes_fields(cls)
