"""JAX203 foreign-static-marker."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.pytrees.framework import Role, Unflatten
from jaxlint.pytrees.frameworks.jax_dataclasses import STATIC
from jaxlint.pytrees.markers import Marker, static_marker
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.fields.arrays_held import holds_array
from jaxlint.rules.analyses.fields.meant_static import annotated_value, data_confidence, leaf_consequence
from jaxlint.rules.analyses.instances.registering import may_be_overtaken
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.syntax.expressions import Call, Span


class ForeignStaticMarker(ClassRule):
    """
    ## What it does

    Finds fields that carry a static marker of another library, which the framework of the class ignores: the field
    is a leaf.

    ## Why is this bad?

    A static marker is metadata under a name that only some frameworks look up, or an annotation that only
    one of them reads. A marker that nobody reads is no error: the class is created and the field becomes a leaf.
    A string or function then fails at the first `jax.jit`; a number is silently traced, so that it is no shape and
    no condition any more, and takes part in `jax.grad`.

    ## What you will see

    `TypeError: Error interpreting argument to <function …> as an abstract array. The problematic value is of type
    <class 'str'> and was passed to the function at path signal.unit.`, or one leaf more than expected.

    ## Example

    ```python
    import dataclasses

    import jax
    from flax import struct

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Signal:
        samples: jax.Array
        unit: str = struct.field(pytree_node=False, default="mV")
    ```

    ## Use instead

    ```python
    import dataclasses

    import jax

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Signal:
        samples: jax.Array
        unit: str = dataclasses.field(metadata=dict(static=True), default="mV")
    ```

    ## Frameworks

    flax.struct, TrainState, simple_pytree and penzai look for the metadata `pytree_node=False`; register_dataclass,
    equinox, tjax and nnx for `static=True`; within each group the markers may be exchanged. jax_dataclasses reads its
    own annotation `Static[...]` only. chex and NamedTuple have no static fields at all. mjx goes by the annotation
    and nnx by the value where it finds no marker that it knows. The `data_fields` of `register_dataclass` overrule
    every marker.

    ## Fix safety

    The marker becomes that of the framework, which is unsafe: what was a leaf becomes static. Where an array is marked,
    the marker is dropped, which is safe: it did nothing.

    ## When not to use it

    If the metadata `static` or `pytree_node` means something else in the project. In classes that are not seen to go
    into a transformation, what JAX takes for data has low confidence (an `int` not, where there are arrays beside it).

    ## References

    - [jax #24700](https://github.com/jax-ml/jax/pull/24700)
    - [jax.tree_util.register_dataclass](https://docs.jax.dev/en/latest/_autosummary/jax.tree_util.register_dataclass.html)
    """

    code = "JAX203"
    name = "foreign-static-marker"
    group = "roles"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the leaves that are marked static."""
        if cls.registered is not True or cls.unknown_decorator or cls.framework.unflatten is Unflatten.CUSTOM:
            return
        if may_be_overtaken(cls, evaluator):
            return
        for field in cls.fields:
            if field.role is not Role.LEAF or _said_at_base(field, cls):
                continue
            marker = static_marker(field, evaluator.model)
            if marker is not None and not _is_nested_marker(marker, cls):
                yield _problem(cls, field, marker, evaluator)


def _said_at_base(field: Field, cls: PytreeClass) -> bool:
    """Whether the field is inherited from a pytree class in which it is such a leaf already."""
    inherited = (c.field(field.name) for c in cls.mro[1:] if c.registered)
    return any(f is not None and f.owner == field.owner and f.role is Role.LEAF for f in inherited)


def _is_nested_marker(marker: Marker, cls: PytreeClass) -> bool:
    """jax_dataclasses knows the marker, but does not see it where it stands: JAX204 is about those."""
    return marker.name == STATIC and cls.framework.static_annotation == STATIC


def _problem(cls: PytreeClass, field: Field, marker: Marker, evaluator: Evaluator) -> Problem:
    from jaxlint.rules.analyses.fixes.roles import drop_marker, move_to_meta, remark

    framework = cls.framework
    spelling = framework.static_spelling
    consequence = leaf_consequence(field, cls, evaluator)
    inherited = field.owner != cls.symbol
    name = f"field `{field.name}`, inherited by `{cls.name}`," if inherited else f"field `{field.name}` of `{cls.name}`"
    start = f"`{marker.text}` means nothing to {framework.title}"
    reason = (
        f"what makes a field static there is `{spelling}`; other markers are ignored without a word"
        if spelling
        else f"{framework.title} has no static fields; markers are ignored without a word"
    )
    verb = "declare it again with" if inherited else "write"
    advice = f"{verb} `{spelling}`" if spelling else "keep it out of the class"
    fix = None if inherited or cls.lists is not None else remark(field, cls, evaluator.model)
    if cls.lists is not None:
        start = f"`data_fields` overrules `{marker.text}`"
        reason = "register_dataclass reads no metadata where it is given lists of fields"
        advice = "list it in `meta_fields`"
        fix = None if inherited else move_to_meta(field, cls, evaluator.model)
    if framework.is_tuple and field.call is not None:
        consequence = "a leaf, and its default is the `Field` object itself"
    if holds_array(annotated_value(field, cls, evaluator), cls, evaluator) is not None:
        consequence = "a leaf"
        advice = "drop the marker, as arrays belong among the leaves"
        fix = drop_marker(field, cls.module, evaluator.model)
    message = f"{start}: {name} is {consequence}; {advice}"
    confidence = data_confidence(field, cls, evaluator, is_marked=True)
    at = _place(cls, field, marker)
    return Problem(at=at, message=message, reason=reason, help=advice, confidence=confidence, fix=fix)


def _place(cls: PytreeClass, field: Field, marker: Marker) -> object:
    """The marker itself, else the field's name, else the class that inherits the field."""
    if field.owner != cls.symbol:
        return cls.symbol.declaration.name_at
    if marker.annotation is not None:
        return marker.annotation.at
    declared = next((d for d in cls.symbol.declaration.fields if d.name == field.name), None)
    value = declared.value if declared is not None else None
    at = value.at if isinstance(value, Call) else field.at
    assert isinstance(at, Span)
    return at
