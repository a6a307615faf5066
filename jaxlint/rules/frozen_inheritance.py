"""JAX107 frozen-inheritance."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Proposal
from jaxlint.cst.failing import proposing
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.reading.creation import frozen_conflict
from jaxlint.project.modules import Module
from jaxlint.pytrees.framework import Subclasses
from jaxlint.pytrees.frameworks.plain import ALL_BASES_COUNT
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.fixes.decorating import freezing
from jaxlint.rules.base import ClassRule, Problem


class FrozenInheritance(ClassRule):
    """
    ## What it does

    Finds frozen dataclasses that inherit from a dataclass that is not frozen, and the other way round.

    ## Why is this bad?

    The dataclass machinery refuses the class: the module cannot be imported. It is easily overlooked because most
    frameworks freeze their classes without being asked to, and `@dataclasses.dataclass` and `@chex.dataclass` do not.

    ## What you will see

    `TypeError: cannot inherit frozen dataclass from a non-frozen one` or `TypeError: cannot inherit non-frozen
    dataclass from a frozen one`, when the class is created.

    ## Example

    ```python
    from dataclasses import dataclass

    import jax
    from flax import struct

    @dataclass
    class Base:
        mass: jax.Array

    @struct.dataclass
    class Body(Base):
        position: jax.Array
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Base:
        mass: jax.Array

    @struct.dataclass
    class Body(Base):
        position: jax.Array
    ```

    ## Frameworks

    All that build on dataclasses. flax.struct, jax_dataclasses, tjax, penzai and mjx freeze; chex does if it is asked;
    `register_dataclass`, simple_pytree and nnx leave it to the `@dataclass` below; equinox.Module is frozen in its own
    way, and counts as not frozen here.

    ## Fix safety

    The class that is not frozen gets `frozen=True`, if it stands in the same file, and nothing there or in what imports
    it seems to assign to its fields. The fix is unsafe: instances may be assigned to elsewhere.

    ## When not to use it

    The error cannot be avoided but by changing one of the classes. A frozen class that inherits from several
    dataclasses of which only some are frozen is refused since Python 3.12, and reported where the code runs on such a
    Python only (`target-version`).

    ## References

    - [dataclasses: frozen instances](https://docs.python.org/3/library/dataclasses.html#frozen-instances)
    """

    code = "JAX107"
    name = "frozen-inheritance"
    group = "declaring"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Compare the class with the dataclasses that it inherits from."""
        if cls.unknown_decorator or cls.params is None or (cls.params.frozen and not cls.bases_known):
            return
        if cls.framework.subclasses is Subclasses.AUTO and cls.made_by:
            return  # it is made a dataclass once more: JAX102 is about that
        base = frozen_conflict(cls, evaluator.model.target.holds(ALL_BASES_COUNT))
        if base is None:
            return
        if cls.params.frozen:
            relation, way_out = f"is frozen and inherits from `{base.name}`, which is not frozen", "make both frozen"
        else:
            relation, way_out = f"is not frozen and inherits from the frozen `{base.name}`", "make both frozen"
        first, second = ("frozen", "non-frozen") if cls.params.frozen else ("non-frozen", "frozen")
        yield Problem(
            at=cls.symbol.declaration.name_at,
            message=f"`{cls.name}` {relation}: the class cannot be created (TypeError); {way_out}",
            reason=(
                f"`TypeError: cannot inherit {first} dataclass from a {second} one` is raised when the class is created"
            ),
            help=f"decorate `{base.name}` and `{cls.name}` with the same decorator, and the same `frozen=`",
            fix=_fix(base if cls.params.frozen else cls, cls.module, evaluator),
        )


@proposing
def _fix(cls: PytreeClass, module: Module, evaluator: Evaluator) -> Proposal | None:
    if cls.registered is False and cls.framework.is_pytree:
        return None  # it is to be registered first, which is JAX101's
    return freezing(cls, module, evaluator)
