"""Whether instances of a class are seen to go into transformations, or are made for that."""

from __future__ import annotations

from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.values import Array, Instance, Value, plain
from jaxlint.libraries.transforms import TRANSFORMS, Kind
from jaxlint.project.resolution import External
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.non_arrays import non_array
from jaxlint.syntax.expressions import Subscript


def is_seen_to_cross(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an instance of the class, or of one that inherits from it, goes into a transformation."""
    return any(evaluator.traced.of(one) is not None for one in (cls, *evaluator.model.subclasses(cls)))


def is_seen_to_be_mapped(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an instance is seen to go into a transformation that gives the function other leaves: slices of them."""
    traced = [evaluator.traced.of(one) for one in (cls, *evaluator.model.subclasses(cls))]
    kinds = {TRANSFORMS[one.transform].kind for one in traced if one is not None}
    return not kinds.isdisjoint({Kind.MAP, Kind.LOOP})


def carries_arrays(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether whoever makes an instance must give it an array for a leaf.

    Constants and settings are written as dataclasses of pytree frameworks, too, and need not ever be transformed.
    """
    required = [leaf for leaf in cls.leaves or () if not leaf.has_default]
    return any(isinstance(plain(evaluator.promises.field(leaf, cls)), Array) for leaf in required)


def is_kept_out(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether instances stay out of transformations, as each has a leaf that jax refuses: a function, a str, a dtype.

    If one is seen to go into a transformation all the same, it may hold something else.
    """
    return _is_refused(cls, evaluator) and not is_seen_to_cross(cls, evaluator)


def _is_refused(cls: PytreeClass, evaluator: Evaluator) -> bool:
    for leaf in cls.leaves or ():
        if leaf.annotation is None or leaf.has_default:
            continue
        if non_array(leaf.annotation, evaluator.model.resolver) is not None:
            return True
        if _is_function_type(plain(evaluator.promises.field(leaf, cls)), evaluator):
            return True
    return False


def _is_function_type(value: Value, evaluator: Evaluator) -> bool:
    """Whether the type of a value is a protocol with `__call__`, which says of functions what they take."""
    if not isinstance(value, Instance) or value.cls.method("__call__") is None:
        return False
    module, declaration = value.cls.module, value.cls.symbol.declaration
    heads = [b.value.value if isinstance(b.value, Subscript) else b.value for b in declaration.bases]
    bases = [evaluator.model.resolver.resolve(head, module, declaration.scope) for head in heads]
    return any(isinstance(base, External) and base.name.endswith(".Protocol") for base in bases)
