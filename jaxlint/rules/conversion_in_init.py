"""JAX307 conversion-in-init."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.pytrees.framework import Unflatten
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.rebuild import Rebuild
from jaxlint.rules.analyses.fixes.factory import computing_once
from jaxlint.rules.analyses.fixes.unflattening import past_constructor
from jaxlint.rules.analyses.instances.trees_of_axes import is_made_of_axes
from jaxlint.rules.analyses.rebuilding.construction import leaf_uses, rebuilt_by
from jaxlint.rules.analyses.rebuilding.leaf_traits import Conversion
from jaxlint.rules.analyses.under_trace.traced import is_made_to_cross, is_seen_to_be_mapped
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Span

#: When a conversion goes wrong.
_OUTCOMES = {
    "array": "`jax.eval_shape`, `in_axes` and mapping leaves to None raise",
    "shape": "`jax.vmap` may give it another shape, and `jax.eval_shape`, `in_axes` and mapping leaves to None raise",
    "value": "the first `jax.jit` raises, as a tracer has no concrete value",
}


class ConversionInInit(BodyRule):
    """
    ## What it does

    Finds conversions of leaves (`jnp.asarray`, `.astype`, `float`, `np.asarray`, …) in a constructor that jax runs
    again: in an `__init__` or `__post_init__` with which it rebuilds instances.

    ## Why is this bad?

    Transformations take instances apart and put them together again, and what they put in is not always an array:
    tracers, `None`, `ShapeDtypeStruct`s, shardings, or the integers of `in_axes`. `jnp.asarray` takes tracers but
    fails for the others. `float`, `int`, `.item()` and `np.asarray` want a concrete value and fail for tracers, too.

    ## What you will see

    `TypeError: float() argument must be a string or a real number, not 'ShapeDtypeStruct'` from `jax.eval_shape`;
    `ValueError: None is not a valid value for jnp.array` where a tree is mapped to None; `TypeError: vmap in_axes must
    be an int, None, or (nested) container`; `ConcretizationTypeError` or `TracerArrayConversionError` at the first
    `jax.jit` where a concrete value is wanted. An instance whose array is flattened with `reshape(-1)` comes out of
    `jax.vmap` with the axes merged, without an error.

    ## Example

    ```python
    import jax
    import numpy as np
    from flax import struct

    @struct.dataclass
    class Spline:
        knots: jax.Array

        def __post_init__(self) -> None:
            object.__setattr__(self, "knots", np.asarray(self.knots))

    @jax.jit
    def span(spline: Spline) -> jax.Array:
        return spline.knots[-1] - spline.knots[0]
    ```

    ## Use instead

    ```python
    from collections.abc import Sequence

    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Spline:
        knots: jax.Array

        @classmethod
        def create(cls, knots: Sequence[float]) -> "Spline":
            return cls(knots=jnp.asarray(knots))

    @jax.jit
    def span(spline: Spline) -> jax.Array:
        return spline.knots[-1] - spline.knots[0]
    ```

    ## Frameworks

    Those whose unflatten calls the constructor: flax.struct, TrainState, register_dataclass, jax_dataclasses, tjax,
    mjx; chex, which runs `__post_init__`; `register_pytree_node_class` and `register_pytree_node` where unflatten calls
    the constructor (`cls(*children)`). equinox, simple_pytree, penzai, nnx and treex rebuild instances without running
    user code.

    ## Fix safety

    `tree_unflatten` is rewritten: it makes the instance with `object.__new__(cls)` and sets its attributes. That is
    done where `tree_flatten` gives all that the constructor sets. `__post_init__` becomes a classmethod `make`, and all
    that makes instances calls that, if all of it is in the same module. The fix is unsafe: updated copies are not
    converted any more.

    ## When not to use it

    If no transformation ever gets an instance, a conversion does no harm. Classes that are not seen to go into a
    transformation are reported with low confidence only, and so is `jnp.asarray`, which takes tracers, unless leaves
    are seen to be replaced by None, or the class to make a tree of axes or specs, and what gives a leaf another shape,
    unless instances are seen to be stacked or mapped as well. A conversion that depends on a test of the value
    (`isinstance(x, jax.Array)`, `hasattr(x, "shape")`, `x is not None`, …) or is inside of `try` is not reported.

    ## References

    - [jax: custom pytrees and initialization](https://docs.jax.dev/en/latest/custom_pytrees.html)
    - [jax #25760](https://github.com/jax-ml/jax/issues/25760), [jax #4673](https://github.com/jax-ml/jax/issues/4673)
    """

    code = "JAX307"
    name = "conversion-in-init"
    group = "construction"
    severity = Severity.WARNING
    confidence = Confidence.MEDIUM
    since = "0.1.0"

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a constructor that runs again does with the leaves."""
        rebuilt = rebuilt_by(code, evaluator)
        if rebuilt is None:
            return
        at_place: dict[Span, dict[str, Conversion]] = {}
        for use in leaf_uses(code, rebuilt, evaluator):
            if isinstance(use, Conversion):
                at_place.setdefault(place_of(use.at), {}).setdefault(use.field, use)
        for uses in at_place.values():
            yield _problem(list(uses.values()), rebuilt, evaluator)


def _confidence(use: Conversion, cls: PytreeClass, evaluator: Evaluator) -> Confidence:
    """High if something is seen that raises; what only placeholders refuse harms nobody who only compiles and maps."""
    if use.needs == "array" and (evaluator.traced.is_emptied(cls) or is_made_of_axes(cls, evaluator)):
        return Confidence.HIGH
    if use.needs == "array" or not is_made_to_cross(cls, evaluator):
        return Confidence.LOW
    if use.needs == "value":
        return Confidence.HIGH
    traced = evaluator.traced
    fails = is_seen_to_be_mapped(cls, evaluator) or traced.is_replaced(cls) or traced.is_emptied(cls)
    return Confidence.MEDIUM if fails else Confidence.LOW


def _problem(uses: list[Conversion], rebuilt: Rebuild, evaluator: Evaluator) -> Problem:
    """The problem of one conversion, with all leaves that it converts."""
    use = next((one for one in uses if one.needs == "value"), uses[0])
    method, cls = rebuilt.function.name, rebuilt.cls.name
    custom = rebuilt.cls.framework.unflatten is Unflatten.CUSTOM
    way_out = "unflatten with `object.__new__(cls)`" if custom else "convert in a classmethod"
    leaves = ", ".join(f"`{one.field}`" for one in uses)
    return Problem(
        at=use.at,
        message=(
            f"`{method}` of `{cls}` converts {'leaf' if len(uses) == 1 else 'leaves'} {leaves} with `{use.function}`,"
            f" and jax runs it again to rebuild instances: {_OUTCOMES[use.needs]}; {way_out}"
        ),
        reason="instances are rebuilt with tracers, None, ShapeDtypeStructs and other placeholders as leaves",
        help=(
            "let `tree_unflatten` make the instance with `object.__new__(cls)` and set its attributes"
            if custom
            else f"write a classmethod that converts {leaves} and returns `cls(...)`"
        ),
        confidence=_confidence(use, rebuilt.cls, evaluator),
        fix=past_constructor(rebuilt.cls)
        if custom
        else computing_once(rebuilt.cls, rebuilt.function, evaluator, "Convert"),
        subject=f"{rebuilt.cls.module.path}::{rebuilt.cls.symbol.declaration.qualname}.{use.field}",
    )
