"""JAX213 string-annotations."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.values import Instance, plain
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.frameworks import MJX, TREEX
from jaxlint.pytrees.frameworks.mjx import is_hidden_leaf
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.syntax.expressions import Constant


class StringAnnotations(ClassRule):
    """
    ## What it does

    Finds array fields of mjx's PyTreeNode, and submodules of treex modules, whose annotations are strings: quoted, or
    because of `from __future__ import annotations`.

    ## Why is this bad?

    mjx and treex tell leaves by the annotations as Python stores them, and find nothing in a string. Every field is
    static: the pytree has no leaves, parameters are not trained, and jit fails for the second array.

    ## What you will see

    `jax.tree.leaves` gives `[]`, and nothing is traced or differentiated. The second call of a jitted function raises
    `ValueError: The truth value of an array with more than one element is ambiguous`.

    ## Example

    ```python
    from __future__ import annotations

    import jax
    from mujoco.mjx._src.dataclasses import PyTreeNode

    class Contact(PyTreeNode):
        distance: jax.Array
    ```

    ## Use instead

    ```python
    import jax
    from mujoco.mjx._src.dataclasses import PyTreeNode

    class Contact(PyTreeNode):
        distance: jax.Array
    ```

    ## Frameworks

    mjx, and treex with treeo. All other frameworks resolve annotations, or do not look at them.

    ## Fix safety

    There is no automatic fix yet.

    ## When not to use it

    There is no reason: a field that is meant to be static is not annotated with `jax.Array`.

    ## References

    - [PEP 563](https://peps.python.org/pep-0563/)
    - [mujoco.mjx](https://github.com/google-deepmind/mujoco/blob/main/mjx/mujoco/mjx/_src/dataclasses.py)
    """

    code = "JAX213"
    name = "string-annotations"
    group = "roles"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the annotations of the class's own fields, as they are stored."""
        if cls.registered is not True:
            return
        future = cls.module.outline.future_annotations
        hidden = [f for f in cls.fields if f.owner == cls.symbol and _is_hidden(f, cls, evaluator)]
        for field in hidden[:1] if future else hidden:
            why = "`from __future__ import annotations` stores annotations as" if future else "its annotation is"
            others = f" and {len(hidden) - 1} more" if future and len(hidden) > 1 else ""
            kind = "mjx finds no array in" if cls.framework is MJX else "treex finds no module in"
            yield Problem(
                at=field.at,
                message=(
                    f"field `{field.name}`{others} of `{cls.name}` is static and no leaf: {why}"
                    f" {'strings' if future else 'a string'}, and {kind} {'them' if future else 'it'};"
                    f" {'remove the import' if future else 'write it without quotes'}"
                ),
                reason="which fields are leaves is determined by the annotations as Python stores them",
                help=(
                    "remove `from __future__ import annotations` from this module"
                    if future
                    else "remove the quotes around the annotation"
                ),
            )


def _is_hidden(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a field would be a leaf if its annotation were no string."""
    place = field.annotation
    if place is None:
        return False
    if cls.framework is MJX:
        return is_hidden_leaf(evaluator.model.context(place.expr, place.module, place.scope, field.metadata))
    if cls.framework is not TREEX or "node" in field.metadata or field.role is Role.LEAF:
        return False
    is_string = place.module.outline.future_annotations or (
        isinstance(place.expr, Constant) and place.expr.kind == "str"
    )
    value = plain(evaluator.annotations.read(place, cls))
    return is_string and isinstance(value, Instance) and value.cls.framework is TREEX
