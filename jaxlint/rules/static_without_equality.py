"""JAX211 static-without-equality."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Instance, plain
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.syntax.spelling import with_article


class StaticWithoutEquality(ClassRule):
    """
    ## What it does

    Finds static fields whose class does not say when instances are equal.

    ## Why is this bad?

    The value of a static field is a part of the key by which JAX finds what it has compiled, and it is compared with
    `==`. Without an `__eq__`, an object is equal to itself alone: a second one of the same content compiles everything
    again, and two states that hold one each cannot be mapped together.

    ## What you will see

    One compilation for each object; `ValueError: pytree structure error: different pytree metadata at key path`.

    ## Example

    ```python
    import jax
    from flax import struct

    class Config:
        def __init__(self, rate: float):
            self.rate = rate

    @struct.dataclass
    class State:
        x: jax.Array
        config: Config = struct.field(pytree_node=False)
    ```

    ## Use instead

    ```python
    import dataclasses

    import jax
    from flax import struct

    @dataclasses.dataclass(frozen=True)
    class Config:
        rate: float

    @struct.dataclass
    class State:
        x: jax.Array
        config: Config = struct.field(pytree_node=False)
    ```

    ## Frameworks

    All that have static fields.

    ## Fix safety

    There is no automatic fix.

    ## When not to use it

    An object that is made once and shared by all instances is equal to itself, which is enough.

    ## References

    - [JAX: custom pytree nodes](https://docs.jax.dev/en/latest/custom_pytrees.html)
    """

    code = "JAX211"
    name = "static-without-equality"
    group = "roles"
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.LOW
    enabled = False

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the types of the class's own static fields."""
        for field in cls.static_fields:
            if field.owner != cls.symbol or field.annotation is None or not (field.metadata or _is_marked(cls)):
                continue
            value = plain(evaluator.promises.field(field, cls))
            if not isinstance(value, Instance):
                continue
            from jaxlint.rules.analyses.fields.hashing import lacks_equality

            if lacks_equality(value.cls):
                way_out = f"make `{value.cls.name}` a frozen dataclass, or write `__eq__` and `__hash__`"
                yield Problem(
                    at=field.at,
                    message=(
                        f"static field `{field.name}` of `{cls.name}` holds {with_article(value.cls.name)}, which has"
                        f" no `__eq__`: every new one compiles again; {way_out}"
                    ),
                    reason="static values are compared with ==, which is identity for such a class",
                    help=way_out,
                )


def _is_marked(cls: PytreeClass) -> bool:
    """Whether a static field was declared to be one: some frameworks take it for static by its type."""
    return not cls.framework.static_by_value
