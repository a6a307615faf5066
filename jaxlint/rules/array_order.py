"""JAX116 array-order."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.fields.compared import compared_fields, may_hold_several
from jaxlint.rules.base import ClassRule, Problem


class ArrayOrder(ClassRule):
    """
    ## What it does

    Finds pytree classes that are declared with `order=True` and hold an array first.

    ## Why is this bad?

    Instances are compared like tuples of their fields, and the first step is `==` of the first ones. For an array of
    several elements that gives an array, which has no truth value.

    ## What you will see

    `ValueError: The truth value of an array with more than one element is ambiguous` of `<`, `max` and `sorted`.

    ## Example

    ```python
    import jax
    from flax import struct


    @struct.dataclass(order=True)
    class Candidate:
        params: jax.Array
        score: float
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct


    @struct.dataclass
    class Candidate:
        params: jax.Array
        score: float


    def best(candidates: list[Candidate]) -> Candidate:
        return max(candidates, key=lambda one: one.score)
    ```

    ## Frameworks

    Those whose decorator takes `order`, and dataclasses that are registered.

    ## Fix safety

    There is no automatic fix.

    ## When not to use it

    If the array always has one element, or the field before it decides every comparison.

    ## References

    - [dataclasses](https://docs.python.org/3/library/dataclasses.html#dataclasses.dataclass)
    """

    code = "JAX116"
    name = "array-order"
    group = "declaring"
    since = "0.1.0"
    severity = Severity.WARNING
    confidence = Confidence.MEDIUM
    #: Off, until its findings on code that others wrote were read.
    enabled = False

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the first field that is compared."""
        ordered = [one for one in cls.made_by if one.option("order", False) is True and not one.guarded]
        first = next(iter(compared_fields(cls)), None)
        if ordered and cls.fields_known and first is not None and may_hold_several(first, cls, evaluator):
            yield Problem(
                at=ordered[0].at,
                message=(
                    f"`order=True` of `{cls.name}` compares the array `{first.name}` first: ValueError where it has"
                    " several elements; give `max` and `sorted` a key"
                ),
                reason="instances are compared like tuples of their fields, and an array has no truth value",
                help="leave `order` out, and compare by a number: `max(..., key=...)`",
            )
