"""Whether what is seen of a value contradicts what is declared of it: an annotation is what its author hoped."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from jaxlint.infer.known.values import (
    NONE,
    Array,
    Choice,
    ClassObject,
    Container,
    FunctionValue,
    Instance,
    LocalFunctionValue,
    Partial,
    Scalar,
    Symbolic,
    UnknownValue,
    Value,
    plain,
)
from jaxlint.libraries.arrays import DTYPES
from jaxlint.libraries.functions import WITHOUT_ARRAYS
from jaxlint.project.resolution import External
from jaxlint.pytrees.model import PytreeClass

_MAPPINGS = frozenset({"dict", "mapping"})
_MAX_DEPTH = 6


def contradicts(declared: Value, seen: Value, depth: int = 0) -> bool:
    """Whether a value that is `seen` certainly is not what is `declared`; nothing is said of None."""
    declared, seen = plain(declared), plain(seen)
    if depth > _MAX_DEPTH or seen == NONE or isinstance(seen, UnknownValue):
        return False
    if isinstance(seen, Choice):
        return all(contradicts(declared, one, depth + 1) for one in seen.options if one != NONE)
    match declared:
        case Choice(options=options):
            return all(contradicts(one, seen, depth + 1) for one in options if one != NONE)
        case Instance(cls=cls):
            return _is_other_class(cls, seen)
        case Array(library=library):
            if isinstance(seen, Array):
                return {library, seen.library} == {"jax", "numpy"}
            return isinstance(seen, (Instance, Container)) or _is_text(seen) or _is_callable(seen)
        case Container():
            return _is_other_container(declared, seen, depth)
        case Scalar(kind=kind) if declared != NONE:
            if isinstance(seen, Scalar):
                return _is_text(seen) != (kind in ("str", "bytes"))
            return isinstance(seen, (Array, Instance, Container))
    return False


def confirmed(declared: Value, seen: Sequence[Value]) -> Value:
    """What is declared; an instance is known for certain where each value that is seen is one of its class."""
    values = list(map(plain, seen))
    match declared:
        case Instance(cls=cls, declared=True) if values:
            if all(isinstance(one, Instance) and cls in one.cls.mro and not one.declared for one in values):
                return replace(declared, declared=False)
        case Container(items=tuple(items)):
            held = [one.items for one in values if isinstance(one, Container) and one.items is not None]
            if len(held) == len(values) and all(len(one) == len(items) for one in held):
                parts = (confirmed(item, [one[i] for one in held]) for i, item in enumerate(items))
                return replace(declared, items=tuple(parts))
    return declared


def _is_other_class(cls: PytreeClass, seen: Value) -> bool:
    if not isinstance(seen, Instance):
        return isinstance(seen, (Array, Container, Scalar, ClassObject)) or _is_callable(seen)
    related = cls in seen.cls.mro or seen.cls in cls.mro
    return not related and cls.bases_known and seen.cls.bases_known


def _is_other_container(declared: Container, seen: Value, depth: int) -> bool:
    if not isinstance(seen, Container):
        is_named_tuple = isinstance(seen, Instance) and seen.cls.framework.is_tuple
        known = isinstance(seen, (Array, Scalar)) or (isinstance(seen, Instance) and seen.cls.bases_known)
        return known and not is_named_tuple and not _is_text(seen)
    if "awaitable" in (declared.kind, seen.kind):
        return False
    if (declared.kind in _MAPPINGS) != (seen.kind in _MAPPINGS):
        return True
    if declared.kind != seen.kind and not {declared.kind, seen.kind} & {"sequence", "mapping"}:
        return True
    if declared.items is not None and seen.items is not None:
        if len(declared.items) != len(seen.items):
            return True
        pairs = list(zip(declared.items, seen.items, strict=True))
        return any(contradicts(one, other, depth + 1) for one, other in pairs) or _is_swapped(pairs)
    of_seen = seen.items if seen.items is not None else (seen.element,)
    of_declared = declared.items if declared.items is not None else (declared.element,)
    return any(all(contradicts(one, other, depth + 1) for one in of_declared) for other in of_seen if of_declared)


def _is_swapped(pairs: list[tuple[Value, Value]]) -> bool:
    """Whether an instance is seen where anything is declared, and anything where one of its class is declared."""
    plains = [(plain(declared), plain(seen)) for declared, seen in pairs]
    hoped = [one.cls for one, seen in plains if isinstance(one, Instance) and isinstance(seen, UnknownValue)]
    return any(
        isinstance(one, UnknownValue) and isinstance(seen, Instance) and seen.cls in hoped for one, seen in plains
    )


def _is_text(value: Value) -> bool:
    return isinstance(value, Scalar) and value.kind in ("str", "bytes")


def _is_callable(value: Value) -> bool:
    """Whether a value is a class, a function or a dtype."""
    if isinstance(value, Symbolic) and isinstance(value.symbol, External):
        module, _, last = value.symbol.name.rpartition(".")
        return module in WITHOUT_ARRAYS or (module in ("numpy", "jax.numpy", "ml_dtypes") and last in DTYPES)
    return isinstance(value, (ClassObject, FunctionValue, LocalFunctionValue, Partial))
