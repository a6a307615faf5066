"""What the dataclass machinery thinks of default values: it refuses what cannot be hashed."""

from __future__ import annotations

from jaxlint.expr import Constant
from jaxlint.infer.values import Array, ClassObject, Container, FunctionValue, Instance, Scalar, Value
from jaxlint.pytrees.frameworks import CHEX, NAMED_TUPLE, PLAIN_CLASS
from jaxlint.pytrees.model import PytreeClass

#: Kinds of defaults (see `mutable_kind`) that Python 3.10 refuses already.
REFUSED_EVERYWHERE = ("list", "dict", "set")
#: From this version on, everything that cannot be hashed is refused.
HASH_DECIDES = (3, 11)


def mutable_kind(value: Value) -> tuple[str, str, str] | None:
    """How a default that the dataclass machinery refuses is called: key, phrase, type name. None if it is accepted."""
    match value:
        case Container(kind="list" | "dict" | "set" as kind):
            return kind, f"a {kind}", kind
        case Array(library="jax"):
            return "array", "a jax array", "jaxlib._jax.ArrayImpl"
        case Array(library="numpy"):
            return "array", "a numpy array", "numpy.ndarray"
        case Scalar(kind="bytearray"):
            return "bytearray", "a bytearray", "bytearray"
        case Instance(cls=cls, exact=True) if is_hashable(cls) is False:
            return "instance", f"an instance of the mutable `{cls.name}`", cls.name
    return None


def is_refused(value: Value, python: tuple[int, int]) -> bool | None:
    """Whether a default makes the class statement fail; None if that cannot be told."""
    kind = mutable_kind(value)
    if kind is not None:
        return kind[0] in REFUSED_EVERYWHERE or python >= HASH_DECIDES
    match value:
        case Scalar() | Container(kind="tuple") | ClassObject() | FunctionValue():
            return False
        case Instance(cls=cls, exact=True):
            return None if is_hashable(cls) is None else False
    return None


def is_hashable(cls: PytreeClass) -> bool | None:
    """Whether `hash` accepts the instances, their contents aside: what the first class of the MRO to say so says."""
    for ancestor in cls.mro:
        answer = _own_hash(ancestor)
        if answer != "inherited":
            return None if answer == "unknown" else answer == "yes"
        if ancestor.root_first and ancestor.framework.defines_eq:
            return True
    if any(c.framework is CHEX and c.params and c.option("mappable_dataclass", True) is not False for c in cls.mro):
        return False  # collections.abc.Mapping has __eq__ and no __hash__
    return None if any(c.framework is PLAIN_CLASS and not c.fields_known for c in cls.mro) else True


def _own_hash(cls: PytreeClass) -> str:
    """What the class itself says of `__hash__`: "yes", "no", "inherited" or "unknown"."""
    if cls.unknown_decorator or cls.symbol.declaration.conditional_body:
        return "unknown"
    declaration = cls.symbol.declaration
    for assignment in declaration.assignments:
        if assignment.name == "__hash__":
            is_none = isinstance(assignment.value, Constant) and assignment.value.kind == "NoneType"
            return "no" if is_none else "yes"
    if "__hash__" in declaration.methods:
        return "yes"
    compares = "__eq__" in declaration.methods
    if cls.framework is NAMED_TUPLE:
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
