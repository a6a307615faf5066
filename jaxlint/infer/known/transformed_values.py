"""What values become where they go into a function that is transformed, or come out of it."""

from __future__ import annotations

from msgspec.structs import replace

from jaxlint.infer.known.values import UNKNOWN, Array, Choice, Container, Instance, Scalar, Value, plain
from jaxlint.libraries.arrays import TREE


def slice_of(value: Value) -> Value:
    """What a loop of JAX gives to its function of a tree, or makes of what that returns: a tree of its kind."""
    value = plain(value)
    match value:
        case Instance(cls=cls):
            return value if cls.is_pytree else UNKNOWN
        case Array(declared=declared):
            return Array("jax", None, declared)
        case Container(kind=kind, items=items, element=element, keys=keys):
            held = None if items is None else tuple(map(slice_of, items))
            return Container(kind, held, slice_of(element), keys)
    return UNKNOWN


def filled(tree: Value) -> Value:
    """A tree of which only the structure is known."""
    if isinstance(tree, Instance) and tree.cls.is_pytree:
        return replace(tree, refilled=True, traced=None, holds_jax=False, is_other_tree=True)
    return UNKNOWN


def traced(value: Value) -> Value:
    """What a value becomes where it goes into a compiled function, or comes out of it; unknown for instances."""
    match plain(value):
        case Array(library=library, single=single):
            return value if library == TREE else Array("jax", single)
        case Scalar(kind="int" | "float" | "bool" | "complex"):
            return Array("jax", True)
        case Scalar(kind="NoneType"):
            return value
        case Container(kind="tuple" | "list" | "dict" as kind, items=items, element=element, keys=keys):
            return Container(kind, None if items is None else tuple(map(traced, items)), traced(element), keys)
    return UNKNOWN


def marked(value: Value, *, traced: bool) -> Value:
    """The value where the leaves of the instances of pytree classes in it are tracers, or need not be.

    Of two libraries, the arrays that a transformed function is given are arrays of jax.
    """
    match value:
        case Array(library="array", single=single, declared=declared) if traced:
            return Array("jax", single, declared)
        case Instance(cls=cls, traced=before) if (before is not None) != traced and (not traced or cls.is_pytree):
            return replace(value, traced=frozenset() if traced else None)
        case Container(items=tuple(items)):
            return replace(value, items=tuple([marked(item, traced=traced) for item in items]))
        case Container(element=element):
            return replace(value, element=marked(element, traced=traced))
        case Choice(options=options):
            return Choice(tuple([marked(option, traced=traced) for option in options]))
    return value


def holds_tracers(value: Value) -> bool:
    """Whether the leaves of an instance are tracers, or of one that an ordinary one, a list or a dict holds."""
    match plain(value):
        case Instance(held=held, traced=traced):
            return traced is not None or any(holds_tracers(one) for _, one in held)
        case Container(items=items, element=element):
            return any(map(holds_tracers, items or (element,)))
    return False
