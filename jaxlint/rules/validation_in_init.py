"""JAX308 validation-in-init."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.pytrees.framework import Unflatten
from jaxlint.pytrees.rebuild import Rebuild
from jaxlint.rules.analyses.fixes.factory import computing_once
from jaxlint.rules.analyses.fixes.unflattening import past_constructor
from jaxlint.rules.analyses.instances.trees_of_axes import is_made_of_axes
from jaxlint.rules.analyses.rebuilding.construction import leaf_uses, rebuilt_by
from jaxlint.rules.analyses.rebuilding.leaf_traits import Check
from jaxlint.rules.analyses.under_trace.traced import is_made_to_cross, is_seen_to_be_mapped
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.syntax.ast_expressions import place_of

#: When a check of what a leaf is like goes wrong.
_OUTCOMES = {
    "shape": "`jax.tree.map` to values without a shape raises, and so may `jax.vmap`, which takes an axis away",
    "dtype": "`jax.tree.map` to values without a dtype raises",
    "length": "`jax.tree.map` to values without a length raises, and so may `jax.vmap`, which takes an axis away",
    "value": "the first `jax.jit` raises, as a tracer has none",
    "type": "`jax.tree.map` to values of other types raises",
}
_UNTRACED = "the first `jax.jit` raises, as a tracer has another one"
_SOFT = "`jax.vmap` may raise, as it takes an axis away"


class ValidationInInit(BodyRule):
    """
    ## What it does

    Finds checks of leaves (their shape, dtype, length, type or value) in a constructor that jax runs again, an
    `__init__` or `__post_init__` with which it rebuilds instances: tests and assertions, also through a property or a
    function, and `rows, columns = x.shape`, which asks for two axes.

    ## Why is this bad?

    Transformations take instances apart and put them together again, and what they put in is not always what the
    constructor is meant for: `jax.tree.map` puts in whatever the function returns, `jax.vmap` arrays with an axis less
    or more, `jax.jit` tracers, which have a shape but no value. A check that is right for users then fails for jax.

    ## What you will see

    `AttributeError: 'bool' object has no attribute 'shape'` or the `AssertionError` of the check itself, from inside of
    `jax.tree.map` or `jax.vmap`; `TracerBoolConversionError: Attempted boolean conversion of traced array` at the first
    `jax.jit`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Boxes:
        corners: jax.Array

        def __post_init__(self) -> None:
            assert self.corners.shape[-1] == 4

    @jax.vmap
    def width(boxes: Boxes) -> jax.Array:
        return boxes.corners[2] - boxes.corners[0]
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Boxes:
        corners: jax.Array

        @classmethod
        def create(cls, corners: jax.Array) -> "Boxes":
            assert corners.shape[-1] == 4
            return cls(corners=corners)
    ```

    ## Frameworks

    Those whose unflatten calls the constructor: flax.struct, TrainState, register_dataclass, jax_dataclasses, tjax,
    mjx; chex, which runs `__post_init__`; `register_pytree_node_class` and `register_pytree_node` where unflatten calls
    the constructor (`cls(*children)`). equinox (use `__check_init__` there), simple_pytree, penzai, nnx and treex
    rebuild instances without running user code. Checks of static fields are fine everywhere.

    ## Fix safety

    `tree_unflatten` is rewritten: it makes the instance with `object.__new__(cls)` and sets its attributes. That is
    done where `tree_flatten` gives all that the constructor sets. `__post_init__` becomes a classmethod `make`, and all
    that makes instances calls that, if all of it is in the same module. The fix is unsafe: updated copies are not
    checked any more.

    ## When not to use it

    If no transformation ever gets an instance, a check does no harm. Two kinds are reported with low confidence only:
    checks in classes that are not seen to go into a transformation, and checks of the shape in classes that are not
    seen to be stacked or mapped (by `jax.vmap`, or to something without a shape). A check that depends on another test
    of the value (`isinstance(x, jax.Array)`, `hasattr(x, "shape")`, `x is not None`, …) or is inside of `try` is not
    reported.

    ## References

    - [jax: custom pytrees and initialization](https://docs.jax.dev/en/latest/custom_pytrees.html)
    - [jax #12319](https://github.com/jax-ml/jax/issues/12319)
    """

    code = "JAX308"
    name = "validation-in-init"
    group = "construction"
    severity = Severity.WARNING
    since = "0.1.0"

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a constructor that runs again asks of the leaves."""
        rebuilt = rebuilt_by(code, evaluator)
        if rebuilt is None:
            return
        checks = [use for use in leaf_uses(code, rebuilt, evaluator) if isinstance(use, Check)]
        for first, leaves in _together(checks):
            yield _problem(first, leaves, rebuilt, _confidence(first, rebuilt, evaluator), evaluator)


def _together(checks: list[Check]) -> Iterator[tuple[Check, list[str]]]:
    """The first of the checks that ask for the same, with the leaves of which they do.

    Of those that `jax.jit` refuses, those in one row.
    """
    groups: dict[object, list[Check]] = {}
    for check in checks:
        row = place_of(check.at).row if _is_refused(check) else None
        groups.setdefault((row, check.what, check.traced, check.soft), []).append(check)
    for group in groups.values():
        yield group[0], list(dict.fromkeys(check.field for check in group))


def _is_refused(use: Check) -> bool:
    """Whether the first `jax.jit` raises."""
    return use.what == "value" or not use.traced


def _confidence(use: Check, rebuilt: Rebuild, evaluator: Evaluator) -> Confidence:
    """High if something is seen that raises; a check that fails for mapped instances only harms who maps them."""
    if use.traced and not use.soft and use.what != "value":
        if evaluator.traced.is_replaced(rebuilt.cls) or is_made_of_axes(rebuilt.cls, evaluator):
            return Confidence.HIGH
    if not is_made_to_cross(rebuilt.cls, evaluator):
        return Confidence.LOW
    if _is_refused(use):
        return Confidence.HIGH
    return Confidence.MEDIUM if is_seen_to_be_mapped(rebuilt.cls, evaluator) else Confidence.LOW


def _problem(use: Check, leaves: list[str], rebuilt: Rebuild, confidence: Confidence, evaluator: Evaluator) -> Problem:
    method, cls = rebuilt.function.name, rebuilt.cls.name
    outcome = _SOFT if use.soft else _OUTCOMES[use.what] if use.traced else _UNTRACED
    named = f"{'leaf' if len(leaves) == 1 else 'leaves'} {' and '.join(f'`{leaf}`' for leaf in leaves)}"
    custom = rebuilt.cls.framework.unflatten is Unflatten.CUSTOM
    way_out = "unflatten with `object.__new__(cls)`" if custom else "check in a classmethod"
    return Problem(
        at=use.at,
        message=(
            f"`{method}` of `{cls}` checks the {use.what} of {named}, and jax runs it again to rebuild"
            f" instances: {outcome}; {way_out}"
        ),
        reason="instances are rebuilt with tracers, None, ShapeDtypeStructs and other placeholders as leaves",
        help=(
            "let `tree_unflatten` make the instance with `object.__new__(cls)` and set its attributes"
            if custom
            else f"write a classmethod that checks `{use.field}` and returns `cls(...)`"
        ),
        confidence=confidence,
        fix=past_constructor(rebuilt.cls)
        if custom
        else computing_once(rebuilt.cls, rebuilt.function, evaluator, "Check"),
        subject=f"{rebuilt.cls.module.path}::{rebuilt.cls.symbol.declaration.qualname}.{use.field}",
    )
