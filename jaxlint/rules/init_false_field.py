"""JAX304 init-false-field."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.pytrees.framework import InitFalse, Role
from jaxlint.pytrees.frameworks.equinox import WARNS_OF_INIT_FALSE
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.under_trace.traced import is_array_field
from jaxlint.rules.base import ClassRule, Problem


class InitFalseField(ClassRule):
    """
    ## What it does

    Finds fields with `init=False` in frameworks that cannot rebuild instances with them, and array fields with
    `init=False` of equinox modules.

    ## Why is this bad?

    flax.struct, mjx and `register_dataclass` rebuild an instance by passing all fields to the constructor, which has no
    parameter for these. In equinox such a field is a leaf of its own: gradients and updates go to it, and not to the
    fields from which `__post_init__` has computed it.

    ## What you will see

    `ValueError: data_fields and meta_fields must include all dataclass fields with ``init=True`` and only them.
    Unexpected fields: {'norm'}.`, when the class is created; with mjx `TypeError: Vector.__init__() got an unexpected
    keyword argument 'norm'`, in the first transformation; with equinox `UserWarning: Using `field(init=False)` on
    `equinox.Module` can lead to surprising behaviour when used around `jax.grad`.`

    ## Example

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Vector:
        entries: jax.Array
        norm: jax.Array = struct.field(init=False)
    ```

    ## Use instead

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Vector:
        entries: jax.Array

        @property
        def norm(self) -> jax.Array:
            return jnp.linalg.norm(self.entries)
    ```

    ## Frameworks

    flax.struct and TrainState, `register_dataclass` without lists of fields (for those with lists see JAX104) and mjx;
    equinox, with a warning. jax_dataclasses and tjax keep such fields out of the pytree, and chex computes them again.
    simple_pytree, penzai and nnx treat them as any other field.

    ## Fix safety

    There is no automatic fix yet.

    ## When not to use it

    The field of an equinox module may be meant to be independent once it is initialised, as a buffer is, and equinox
    warns of it itself: this is of low confidence, and shown with `--min-confidence low` only. Modules with an
    `__init__` of their own, for which the option means nothing, are left alone.

    ## References

    - [jax.tree_util.register_dataclass](https://docs.jax.dev/en/latest/_autosummary/jax.tree_util.register_dataclass.html)
    - [equinox: extra features](https://docs.kidger.site/equinox/api/module/advanced_fields/)
    """

    code = "JAX304"
    name = "init-false-field"
    group = "construction"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the fields that are no parameters of the constructor."""
        if cls.registered is not True or cls.unknown_decorator:
            return
        for field in cls.fields:
            if field.init or field.owner.module is not cls.module:
                continue
            if not any(field in c.fields and c.framework is cls.framework for c in cls.mro[1:] if c.registered):
                yield from _problem(cls, field, evaluator)


def _problem(cls: PytreeClass, field: Field, evaluator: Evaluator) -> Iterator[Problem]:
    framework = cls.framework
    name = f"field `{field.name}` of `{cls.name}`"
    if framework.init_false is InitFalse.WARNED:
        if field.role is Role.LEAF and cls.generated_init and is_array_field(field, cls, evaluator):
            warns = evaluator.model.target.holds(WARNS_OF_INIT_FALSE) is not False
            yield Problem(
                at=field.at,
                message=(
                    f"{name} has init=False and is a leaf: gradients and updates go to it and not to the fields that it"
                    f" is computed from{' (equinox warns)' if warns else ''}; make it a property"
                ),
                reason="equinox flattens the value that `__post_init__` has stored, and does not compute it again",
                help=f"compute `{field.name}` in a property or a method, or make it a parameter of the constructor",
                severity=Severity.WARNING,
                confidence=Confidence.LOW,  # equinox says so itself, and the field may be meant to be a leaf
            )
    elif framework.init_false is InitFalse.PASSED and field.role is Role.LEAF:
        yield Problem(
            at=field.at,
            message=(
                f"{name} has init=False, and mjx passes it to the constructor: the first tree_map or jit fails"
                " (TypeError); make it a property"
            ),
            reason="mjx rebuilds an instance with all fields as keywords",
            help=f"compute `{field.name}` in a property, or make it a parameter of the constructor",
        )
    elif framework.init_false is InitFalse.REFUSED and (cls.lists is None or cls.lists.automatic):
        yield Problem(
            at=field.at,
            message=(
                f"{name} has init=False: {framework.title} cannot register the class (ValueError); make it a property"
            ),
            reason="an instance is rebuilt by its constructor, which has no parameter for the field",
            help=f"compute `{field.name}` in a property, or make it a parameter of the constructor",
        )
