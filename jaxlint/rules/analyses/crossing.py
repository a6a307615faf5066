"""Whether instances of a class are seen to go into transformations, or are made for that."""

from __future__ import annotations

from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.values import Array, plain
from jaxlint.libraries.transforms import TRANSFORMS, Kind
from jaxlint.pytrees.model import PytreeClass


def is_seen_to_cross(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an instance of the class, or of one that inherits from it, goes into a transformation."""
    return any(evaluator.crossings.of(one) is not None for one in (cls, *evaluator.model.subclasses(cls)))


def is_seen_to_be_mapped(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an instance is seen to go into a transformation that gives the function other leaves: slices of them."""
    crossings = [evaluator.crossings.of(one) for one in (cls, *evaluator.model.subclasses(cls))]
    kinds = {TRANSFORMS[one.transform].kind for one in crossings if one is not None}
    return not kinds.isdisjoint({Kind.MAP, Kind.LOOP})


def carries_arrays(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether whoever makes an instance must give it an array for a leaf.

    Constants and settings are written as dataclasses of pytree frameworks, too, and need not ever be transformed.
    """
    required = [leaf for leaf in cls.leaves or () if not leaf.has_default]
    return any(isinstance(plain(evaluator.promises.field(leaf, cls)), Array) for leaf in required)
