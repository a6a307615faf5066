"""JAX114 field-order."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import MoveField, Proposal
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.reading.creation import misplaced_field
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.base import ClassRule, Problem


class FieldOrder(ClassRule):
    """
    ## What it does

    Finds fields without a default that come after one that has a default, in the class itself or because a base class
    has fields with defaults.

    ## Why is this bad?

    Fields become parameters of the constructor in their order, those of base classes first, and Python wants
    parameters without a default first: the module cannot be imported.

    ## What you will see

    `TypeError: non-default argument 'velocity' follows default argument 'time'`, when the class is created; for a
    NamedTuple `TypeError: Non-default namedtuple field velocity cannot follow default field time`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        time: float = 0.0
        velocity: jax.Array
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        velocity: jax.Array
        time: float = 0.0
    ```

    ## Frameworks

    All that build on dataclasses, chex too, though its constructor takes keywords only; and NamedTuple. treex modules
    are as their `@dataclass` says.

    ## Fix safety

    The field is declared before the one with a default. The fix is safe: the class could not be created. There is none
    for inherited fields.

    ## When not to use it

    There is no reason: the class cannot be created. `kw_only=True`, for the class or for a field, or `_: KW_ONLY` lifts
    the rule where the framework takes it, and nothing is reported then.

    ## References

    - [dataclasses: inheritance](https://docs.python.org/3/library/dataclasses.html#inheritance)
    - [dataclasses: KW_ONLY](https://docs.python.org/3/library/dataclasses.html#dataclasses.KW_ONLY)
    """

    code = "JAX114"
    name = "field-order"
    group = "declaring"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the parameters of the constructor in their order."""
        named_tuple = cls.framework.is_tuple
        if cls.unknown_decorator or not cls.members_known or cls.option("kw_only", False) is None:
            return
        if (named_tuple and (cls.parents or not cls.is_dataclass)) or any(map(misplaced_field, cls.parents)):
            return
        misplaced = misplaced_field(cls)
        if misplaced is None:
            return
        before, field = misplaced
        own = field.owner == cls.symbol
        inherited = "" if before.owner == cls.symbol else f" of `{before.owner.declaration.name}`"
        text = (
            f"Non-default namedtuple field {field.name} cannot follow default field"
            if named_tuple
            else f"non-default argument '{field.name}' follows default argument"
        )
        way_out = "move it up" if own and not inherited else "give it a default" if own else "give it a default there"
        yield Problem(
            at=field.at if own else cls.symbol.declaration.name_at,
            message=(
                f"field `{field.name}` of `{cls.name}` has no default and comes after `{before.name}`{inherited}, which"
                f" has one: the class cannot be created (TypeError); {way_out}"
            ),
            reason=f"`TypeError: {text}` is raised when the class is created",
            help=f"declare `{field.name}` before `{before.name}`, give it a default, or make it keyword-only",
            fix=Proposal(f"Declare it before `{before.name}`", Applicability.SAFE, (MoveField(field.at, before.at),))
            if own and not inherited
            else None,
        )
