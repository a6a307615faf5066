"""Whether instances of a class are seen to go into transformations, or are made for that."""

from __future__ import annotations

from functools import lru_cache

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Array, Choice, Container, Instance, Scalar, Value, plain
from jaxlint.libraries.transforms import TRANSFORMS, Kind
from jaxlint.project.resolution import External
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.syntax.expressions import Subscript
from jaxlint.syntax.source import Source

_MAX_DEPTH = 4


def is_seen_to_cross(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an instance of the class, or of one that inherits from it, goes into a transformation."""
    return any(evaluator.traced.of(one) is not None for one in evaluator.model.family(cls))


def is_made_to_cross(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether instances are seen to cross, or a statement of its own registers the class, which is for nothing else.

    A class that gets its constructor from the framework that registers it, too, may never leave the host.
    """
    is_seen = is_seen_to_cross(cls, evaluator) or evaluator.traced.stacked(cls) is not None
    return cls.framework.registered_by_hand or is_seen


def is_seen_to_be_mapped(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether instances are seen to get leaves of another shape: in a transformation that slices them, or stacked."""
    if evaluator.traced.stacked(cls) is not None:
        return True
    traced = [evaluator.traced.of(one) for one in evaluator.model.family(cls)]
    kinds = {TRANSFORMS[one.transform].kind for one in traced if one is not None}
    return not kinds.isdisjoint({Kind.MAP, Kind.LOOP})


def carries_arrays(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether whoever makes an instance must give it an array for a leaf, or a list or dict of arrays.

    Constants and settings are written as dataclasses of pytree frameworks, too, and need not ever be transformed.
    """
    required = [leaf for leaf in cls.leaves or () if not leaf.has_default]
    return any(_is_of_arrays(plain(evaluator.promises.field(leaf, cls))) for leaf in required)


def _is_of_arrays(value: Value) -> bool:
    """Whether something is an array, or holds nothing but arrays."""
    if isinstance(value, Container):
        held = (value.element,) if value.items is None else value.items
        return bool(held) and all(_is_of_arrays(plain(item)) for item in held)
    return isinstance(value, Array)


@lru_cache(maxsize=8)
def may_run_uncompiled(source: Source) -> bool:
    """Whether a module turns `jax.jit` off: with `jax.disable_jit()`, or by its configuration."""
    text = source.text
    return "disable_jit" in text and any("disable_jit" in line.partition("#")[0] for line in text.split("\n"))


def is_array_field(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the annotation of a field says that it holds an array."""
    return field.annotation is not None and isinstance(plain(evaluator.promises.field(field, cls)), Array)


def stays_outside(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether instances stay out of transformations, as far as their class tells and nothing that is seen contradicts.

    Each has a leaf that jax refuses (a function, a str, a dtype), says itself how it is hashed, as static arguments
    must, or holds the settings of a program and nothing else.
    """
    is_configuration = _is_refused(cls, evaluator) or _hashes_itself(cls) or holds_settings(cls, evaluator)
    return is_configuration and not is_seen_to_cross(cls, evaluator)


def _is_refused(cls: PytreeClass, evaluator: Evaluator) -> bool:
    for leaf in cls.leaves or ():
        if leaf.annotation is None or leaf.has_default:
            continue
        if evaluator.promises.non_array(leaf) is not None:
            return True
        if _is_function_type(plain(evaluator.promises.field(leaf, cls)), evaluator):
            return True
    return False


def _hashes_itself(cls: PytreeClass) -> bool:
    """Whether a class of the project states equality and hash of instances that hold arrays."""
    return cls.answers("__hash__") and cls.answers("__eq__")


def holds_settings(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether all leaves that are known are Python values with defaults: what is written once, and read on the host."""
    leaves = [f for f in cls.fields if f.role is Role.LEAF]
    settings = (leaf.has_default and _is_setting(evaluator.promises.field(leaf, cls)) for leaf in leaves)
    return bool(leaves) and all(settings)


def _is_setting(value: Value, depth: int = 0) -> bool:
    """Whether a value is certainly a Python number, str or None, or made of them."""
    match plain(value):
        case Scalar():
            return True
        case Choice(options=options):
            return all(_is_setting(option, depth + 1) for option in options)
        case Container(items=items, element=element) if depth < _MAX_DEPTH:
            return all(_is_setting(item, depth + 1) for item in (items if items is not None else (element,)))
    return False


def _is_function_type(value: Value, evaluator: Evaluator) -> bool:
    """Whether the type of a value is a protocol with `__call__`, which says of functions what they take."""
    if not isinstance(value, Instance) or value.cls.method("__call__") is None:
        return False
    module, declaration = value.cls.module, value.cls.symbol.declaration
    heads = [b.value.value if isinstance(b.value, Subscript) else b.value for b in declaration.bases]
    bases = [evaluator.model.resolver.resolve(head, module, declaration.scope) for head in heads]
    return any(isinstance(base, External) and base.name.endswith(".Protocol") for base in bases)
