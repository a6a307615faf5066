"""JAX306 assignment-in-init."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import CallSetattr, Proposal
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import AssignAttribute, Event
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.frozen import assignment_error, in_construction, refuses_assignment
from jaxlint.rules.base import EventRule, Problem


class AssignmentInInit(EventRule):
    """
    ## What it does

    Finds assignments to attributes of `self` in an `__init__` or `__post_init__`, and in methods that are called only
    from there, of a class whose instances are frozen by then.

    ## Why is this bad?

    A frozen dataclass refuses assignment from the start, to its own constructor, too. Where the line runs, no instance
    can be made.

    ## What you will see

    `dataclasses.FrozenInstanceError: cannot assign to field 'area'`, when an instance is made; with jax_dataclasses
    `Dataclass registered as pytree is immutable!`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Plate:
        sides: jax.Array
        area: jax.Array = None

        def __post_init__(self) -> None:
            self.area = self.sides.prod()
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Plate:
        sides: jax.Array
        area: jax.Array

        @classmethod
        def create(cls, sides: jax.Array) -> "Plate":
            return cls(sides=sides, area=sides.prod())
    ```

    ## Frameworks

    flax.struct, TrainState, register_dataclass over a frozen dataclass, jax_dataclasses, chex with `frozen=True`, tjax,
    mjx; penzai in `__post_init__` (its `__init__` may assign). equinox and simple_pytree may assign in both, but
    equinox not in `__check_init__`. Instances that are not frozen (chex, nnx, treex, `frozen=False`) may everywhere.

    ## Fix safety

    A field of flax.struct, chex, mjx or register_dataclass is set with `object.__setattr__`, as the generated
    `__init__` does. The fix is safe: the line could only raise. There is none for other frameworks, and where the value
    would be computed again whenever the instance is rebuilt (JAX307, JAX308, JAX309).

    ## When not to use it

    There is no reason to keep such a line.

    ## References

    - [flax #3105](https://github.com/google/flax/issues/3105)
    - [dataclasses: frozen instances](https://docs.python.org/3/library/dataclasses.html#frozen-instances)
    """

    code = "JAX306"
    name = "assignment-in-init"
    group = "construction"
    since = "0.1.0"
    events = (AssignAttribute,)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at one assignment of an attribute."""
        assert isinstance(event, AssignAttribute)
        if event.how == "delete" or not refuses_assignment(event) or not in_construction(event):
            return
        cls = event.receiver.cls
        target = f"`{event.receiver_text}.{event.attr}`" if event.attr else f"an attribute of `{event.receiver_text}`"
        verb = "changing" if event.how == "augment" else "assigning"
        method = event.place.method
        place = method.name if method is not None else ""
        yield Problem(
            at=event.at,
            message=(
                f"`{cls.name}` is frozen ({cls.framework.title}), also in `{place}`: {verb} {target} raises"
                f" {assignment_error(event)} when an instance is made; {_way_out(cls, event, place)}"
            ),
            reason=_reason(cls),
            help=_way_out(cls, event, place),
            confidence=Confidence.MEDIUM if cls.unknown_decorator else None,
            subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{event.attr}",
            fix=_past_the_refusal(event, cls),
        )


def _past_the_refusal(event: AssignAttribute, cls: PytreeClass) -> Proposal | None:
    """The fix that sets a field of the class as the generated `__init__` does, where that is a plain dataclass."""
    if event.how not in ("assign", "setattr") or not cls.framework.sets_plainly or cls.field(event.attr) is None:
        return None
    if event.receiver_text is None or "." in event.receiver_text:
        return None
    change = CallSetattr(event.at)
    return Proposal("Assign with `object.__setattr__`", Applicability.SAFE, (change,))


def _reason(cls: PytreeClass) -> str:
    allowed = " and ".join(f"`{name}`" for name in sorted(cls.framework.assignable_in))
    if allowed:
        return f"instances of {cls.framework.title} classes may be assigned to only in {allowed}"
    return f"instances of {cls.framework.title} classes are immutable from the start"


def _way_out(cls: PytreeClass, event: AssignAttribute, place: str) -> str:
    allowed = cls.framework.assignable_in - {place}
    if allowed and place in cls.framework.constructing:
        return "assign in `__init__`" if "__init__" in allowed else f"assign in `{min(allowed)}`"
    if cls.field(event.attr) is None and event.attr:
        return f"make `{event.attr}` a field that a classmethod computes, or a property"
    return "compute it in a classmethod that hands it to the constructor"
