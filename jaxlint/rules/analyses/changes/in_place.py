"""Values that certainly change where something is put into them."""

from __future__ import annotations

from jaxlint.infer.known.values import Array, Container, Value


def is_changed(held: Value, how: str) -> bool:
    """Whether a value is certainly changed in place, in the way that an event tells (`MutateField.how`)."""
    match held:
        case Container(kind="list" | "dict" | "set"):
            return how != "attribute"
        case Container(kind="mapping"):
            return how in ("item", "augment")  # an error if it cannot be changed, and that is seen
        case Array(library="numpy"):
            return how in ("item", "augment", "fill", "sort")
    return False
