"""What the dataclass machinery thinks of default values: it refuses what cannot be hashed."""

from __future__ import annotations

from jaxlint.infer.known.values import Array, ClassObject, Container, FunctionValue, Instance, Scalar, Value
from jaxlint.pytrees.hashing import is_hashable

#: Kinds of defaults (see `mutable_kind`) that Python 3.10 refuses already.
REFUSED_EVERYWHERE = ("list", "dict", "set")


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


def is_refused(value: Value, hash_decides: bool | None) -> bool | None:
    """Whether a default makes the class statement fail; None if that cannot be determined.

    `hash_decides` tells whether the fact `UNHASHABLE_REFUSED` holds.
    """
    kind = mutable_kind(value)
    if kind is not None:
        return kind[0] in REFUSED_EVERYWHERE or hash_decides
    match value:
        case Scalar() | Container(kind="tuple") | ClassObject() | FunctionValue():
            return False
        case Instance(cls=cls, exact=True):
            return None if is_hashable(cls) is None else False
    return None
