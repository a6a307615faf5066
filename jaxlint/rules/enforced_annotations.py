"""JAX606 enforced-annotations."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import BeginBody, Proposal
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.resolution import External
from jaxlint.pytrees.frameworks import JAX_DATACLASSES
from jaxlint.pytrees.frameworks.jax_dataclasses import ENFORCED
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import names_called
from jaxlint.rules.base import ClassRule, Problem

_HOOK = "__post_init__"
_CALL = "super().__post_init__()"


class EnforcedAnnotations(ClassRule):
    """
    ## What it does

    Finds classes with jax_dataclasses' `EnforcedAnnotationsMixin` whose own `__post_init__` does not call the mixin's.

    ## Why is this bad?

    The mixin compares shapes and dtypes with the annotations in its `__post_init__`. A class that has one of its own
    hides it: nothing is checked any more.

    ## What you will see

    Nothing: an array of the wrong shape is accepted. With the call it is `AssertionError: Shape did not match
    annotation: expected (*,2) but got (3,).`

    ## Example

    ```python
    from typing import Annotated

    import jax
    import jax.numpy as jnp
    import jax_dataclasses as jdc

    @jdc.pytree_dataclass
    class Point(jdc.EnforcedAnnotationsMixin):
        x: Annotated[jax.Array, (2,), jnp.floating]

        def __post_init__(self) -> None:
            print("made")
    ```

    ## Use instead

    ```python
    from typing import Annotated

    import jax
    import jax.numpy as jnp
    import jax_dataclasses as jdc

    @jdc.pytree_dataclass
    class Point(jdc.EnforcedAnnotationsMixin):
        x: Annotated[jax.Array, (2,), jnp.floating]

        def __post_init__(self) -> None:
            super().__post_init__()
            print("made")
    ```

    ## Frameworks

    jax_dataclasses only.

    ## Fix safety

    The call is put at the beginning of the method. The fix is unsafe: what was accepted is checked now.

    ## When not to use it

    If the checks are meant to be turned off in this class.

    ## References

    - [jax_dataclasses](https://github.com/brentyi/jax_dataclasses#shape-and-data-type-annotations)
    """

    code = "JAX606"
    name = "enforced-annotations"
    group = "frameworks"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look for a `__post_init__` in a class with the mixin."""
        methods = cls.symbol.declaration.methods
        if cls.framework is not JAX_DATACLASSES or _HOOK not in methods:
            return
        function = cls.module.outline.functions[methods[_HOOK][-1]]
        if not any(_has_mixin(c, evaluator) for c in cls.mro) or _HOOK in names_called(function, cls.module):
            return
        yield Problem(
            at=function.at,
            message=(
                f"`__post_init__` of `{cls.name}` hides that of `EnforcedAnnotationsMixin`, which checks shapes and"
                " dtypes: nothing is checked; call `super().__post_init__()`"
            ),
            reason="a class has one `__post_init__`, and that of a base class runs only if it is called",
            help="write `super().__post_init__()` in it",
            fix=Proposal("Call the hook of the mixin", Applicability.UNSAFE, (BeginBody(function.at, _CALL),)),
        )


def _has_mixin(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the mixin is among the bases that are written."""
    for argument in cls.symbol.declaration.bases:
        symbol = evaluator.model.resolver.resolve(argument.value, cls.module, cls.symbol.declaration.scope)
        if isinstance(symbol, External) and symbol.name == ENFORCED:
            return True
    return False
