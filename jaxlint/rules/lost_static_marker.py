"""JAX113 lost-static-marker."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.finding import Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.pytrees.framework import Role, Subclasses
from jaxlint.pytrees.model import Field, Kind, PytreeClass
from jaxlint.rules.analyses.fields.meant_static import data_confidence, leaf_consequence
from jaxlint.rules.analyses.fixes.roles import make_static
from jaxlint.rules.analyses.under_trace.traced import is_array_field
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.symbols.outline import ClassAssignment
from jaxlint.syntax.expressions import Lambda

#: The keywords of field functions that say whether a field is static.
_MARKERS = frozenset({"pytree_node", "static"})


class LostStaticMarker(ClassRule):
    """
    ## What it does

    Finds subclasses that declare a static field again without its marker, and subclasses that bind the name of a field
    without an annotation, to give it another default.

    ## Why is this bad?

    A field that is declared again is declared anew: without the marker it is a leaf, which is traced, differentiated
    and, if it is no array, refused. A name without an annotation is no declaration at all: the constructor assigns the
    default of the base class, and the new value is never seen.

    ## What you will see

    `TypeError: Shapes must be 1D sequences of concrete values of integer type` and kin inside of `jax.jit`, or
    `TypeError: Error interpreting argument to <function step> as an abstract array.` for a string. Nothing for a
    default that is not seen.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Distance:
        value: jax.Array
        unit: str = struct.field(pytree_node=False, default="m")

    @struct.dataclass
    class Far(Distance):
        unit: str = "km"
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Distance:
        value: jax.Array
        unit: str = struct.field(pytree_node=False, default="m")

    @struct.dataclass
    class Far(Distance):
        unit: str = struct.field(pytree_node=False, default="km")
    ```

    ## Frameworks

    A lost marker: flax.struct, TrainState, register_dataclass without lists, jax_dataclasses, tjax, equinox and penzai.
    simple_pytree and nnx keep the marker of the base class. A default without an annotation: all that build on
    dataclasses.

    ## Fix safety

    The field is marked static again, as its framework does. The fix is unsafe: what was a leaf becomes static.

    ## When not to use it

    A field that becomes an array in the subclass is meant to become a leaf, and so is one that says so
    (`pytree_node=True`); neither is reported. A lost marker of a class that is not seen to go into a transformation is
    reported with low confidence, unless it has arrays and the field holds what JAX refuses. A default without an
    annotation is reported where instances of the class are made by the constructor of its dataclass.

    ## References

    - [dataclasses: inheritance](https://docs.python.org/3/library/dataclasses.html#inheritance)
    """

    code = "JAX113"
    name = "lost-static-marker"
    group = "declaring"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Compare what the class body says of inherited fields with what the base classes say."""
        if cls.unknown_decorator or not cls.bases_known or cls.framework.is_tuple:
            return
        if cls.registered is True and not cls.framework.marks_stay:
            for field in cls.fields:
                if field.owner != cls.symbol or field.role is not Role.LEAF:
                    continue
                base = next((c for c in cls.mro[1:] if c.registered and c.field(field.name) is not None), None)
                before = base.field(field.name) if base is not None else None
                if base is None or before is None or before.role is not Role.STATIC:
                    continue
                if not _is_meant(field, cls, evaluator):
                    confidence = data_confidence(field, cls, evaluator, is_marked=False)
                    yield _lost(cls, field, base, confidence, evaluator)
        if not cls.symbol.declaration.conditional_body and _is_constructed(cls):
            for assignment in cls.symbol.declaration.assignments:
                overridden = _overridden(cls, assignment)
                if overridden is not None:
                    yield _unseen(cls, assignment, overridden)


def _is_meant(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the declaration says that the field is a leaf: by a marker of its own, or as it holds an array."""
    if field.call is not None and not _MARKERS.isdisjoint(field.call.keywords):
        return True
    return is_array_field(field, cls, evaluator)


def _is_constructed(cls: PytreeClass) -> bool:
    """Whether instances are made by a constructor that assigns all fields."""
    if cls.abstract_methods or "__new__" in {name for c in cls.mro for name in c.symbol.declaration.methods}:
        return False
    return cls.custom_init() is None and any(c.params is not None and c.generated_init for c in cls.mro)


def _overridden(cls: PytreeClass, assignment: ClassAssignment) -> Field | None:
    """The field of a base class whose default the assignment is meant to replace."""
    name = assignment.name
    if assignment.value is None or isinstance(assignment.value, Lambda) or name in cls.symbol.declaration.methods:
        return None
    if any(f.name == name for f in cls.symbol.declaration.fields):
        return None
    field = next((f for c in cls.mro[1:] for f in c.members if f.name == name), None)
    if field is None or field.kind is not Kind.FIELD or not field.init:
        return None
    # what has no default must be passed anyway; what is a factory or a marker in between is not looked through
    return field if field.default is not None else None


def _lost(cls: PytreeClass, field: Field, base: PytreeClass, confidence: Confidence, evaluator: Evaluator) -> Problem:
    spelling = cls.framework.static_spelling
    return Problem(
        at=field.at,
        message=(
            f"field `{field.name}` of `{cls.name}` is static in `{base.name}` and is declared again without the marker:"
            f" here it is {leaf_consequence(field, cls, evaluator)}; write `{spelling}` again"
        ),
        reason="a field that is declared again takes nothing over from the declaration in the base class",
        help=f"mark `{field.name}` with `{spelling}` here, too, or leave the declaration out",
        confidence=confidence,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{field.name}",
        fix=make_static(field, cls, cls.module, evaluator.model),
    )


def _unseen(cls: PytreeClass, assignment: ClassAssignment, field: Field) -> Problem:
    name, owner = assignment.name, field.owner.declaration.name
    decorated = cls.params is not None or cls.framework.subclasses is Subclasses.AUTO
    return Problem(
        at=assignment.name_at,
        message=(
            f"`{name}` of `{cls.name}` has no annotation and does not replace the default of field `{name}` of"
            f" `{owner}`: instances keep that; annotate it"
        ),
        reason="the constructor assigns the default of the field to each instance, which hides the class attribute",
        help=f"write `{name}: ... = ...`" + ("" if decorated else ", and decorate the class"),
    )
