"""JAX306 assignment-in-init."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import CallSetattr, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, Event
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.rebuild import rebuild_of
from jaxlint.rules.analyses.rebuilding.frozen import assignment_error, in_construction, refuses_assignment
from jaxlint.rules.base import ClassRule, EventRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Conditional, Expr, Name


class AssignmentInInit(ClassRule, EventRule):
    """
    ## What it does

    Finds assignments to attributes of `self` in an `__init__` or `__post_init__`, and in methods that are called only
    from there, of a class whose instances are frozen by then, and those of a method of the instance (`self.act =
    self._tanh`) to an attribute of an equinox module.

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
    equinox refuses methods of the instance itself, which would hold another copy of it: `ValueError: Cannot assign
    methods in __init__`. A property may return one.

    ## Fix safety

    A field is set with `object.__setattr__`, as the generated `__init__` does, where jax rebuilds instances without the
    method (penzai), where it stores what it is given, or where it sets a static field and looks at no leaf.
    That is safe: the line could only raise. Elsewhere the value would be computed again whenever an instance is rebuilt
    (JAX307, JAX308, JAX309): a `__post_init__` becomes a classmethod, if the file has all that makes instances. That is
    unsafe.

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

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look for methods of the instance that its constructor puts into its attributes."""
        if not cls.framework.refuses_methods or not cls.is_pytree or cls.method("__setattr__") is not None:
            return
        declaration, functions = cls.symbol.declaration, cls.module.outline.functions
        names = sorted(cls.framework.assignable_in & declaration.methods.keys())
        makers = [functions[qualname] for name in names for qualname in declaration.methods[name]]
        given = [(one, list(_own_methods(one.value, maker, cls))) for maker in makers for one in maker.self_assignments]
        for assigned, held in given:
            if held:
                all_held = [method for one, some in given if one.attr == assigned.attr for method in some]
                is_chosen = sum(one.attr == assigned.attr for one, _ in given) > 1 or len(all_held) > 1
                chosen = all_held if is_chosen or isinstance(assigned.value, Conditional) else []
                yield _problem_of_method(assigned.at, assigned.attr, held[0], chosen, cls)

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
        past = _past_the_refusal(event, cls, evaluator)
        way_out = "set it with `object.__setattr__`" if past is not None else _way_out(cls, event, place)
        yield Problem(
            at=event.at,
            message=(
                f"`{cls.name}` is frozen ({cls.framework.title}), also in `{place}`: {verb} {target} raises"
                f" {assignment_error(event)} when an instance is made; {way_out}"
            ),
            reason=_reason(cls),
            help=way_out,
            confidence=Confidence.MEDIUM if cls.unknown_decorator else None,
            subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{event.attr}",
            fix=past if past is not None else _in_factory(event, cls, evaluator),
        )


def _own_methods(value: Expr | None, function: Function, cls: PytreeClass) -> Iterator[str]:
    """The methods of `self` that a value is, or may be: plain ones, which no decorator makes something else of."""
    match value:
        case Conditional(body=one, orelse=other):
            yield from _own_methods(one, function, cls)
            yield from _own_methods(other, function, cls)
        case Attribute(value=Name(id=base), attr=attr) if base == function.self_name and cls.field(attr) is None:
            found = cls.method(attr)
            if found is not None and found[1].self_name is not None and not found[1].decorators:
                yield attr


def _problem_of_method(at: object, attr: str, method: str, chosen: list[str], cls: PytreeClass) -> Problem:
    """The problem of an attribute that holds a method, or one that is `chosen` of some."""
    way_out = f"make `{attr}` a property that returns `self.{method}`"
    if chosen:
        some = " or ".join(f"`self.{one}`" for one in dict.fromkeys(chosen))
        way_out = f"make `{attr}` a property that returns {some}, and keep in a static field what decides"
    return Problem(
        at=at,
        message=(
            f"`{attr}` of `{cls.name}` is given a method of the instance itself: {cls.framework.title} refuses that"
            f" when an instance is made (ValueError: Cannot assign methods in __init__); {way_out}"
        ),
        reason="a bound method holds its instance: it would be another copy of it, which no update reaches",
        help=way_out,
        confidence=Confidence.MEDIUM if cls.unknown_decorator else None,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{attr}",
    )


@proposing
def _past_the_refusal(event: AssignAttribute, cls: PytreeClass, evaluator: Evaluator) -> Proposal | None:
    """The fix that sets a field of the class as the generated `__init__` does, where that is a plain dataclass."""
    if event.how not in ("assign", "setattr") or not cls.framework.sets_plainly or cls.field(event.attr) is None:
        return None
    if event.receiver_text is None or "." in event.receiver_text or not _may_run_again(event, cls, evaluator):
        return None
    change = CallSetattr(event.at)
    return Proposal("Assign with `object.__setattr__`", Applicability.SAFE, (change,))


def _may_run_again(event: AssignAttribute, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an instance is not rebuilt by the code, or may be: it stores what it is given, or looks at no leaf."""
    rebuilt, method = rebuild_of(cls, evaluator.model.resolver), event.place.method
    if rebuilt is None or method is None:
        return rebuilt is None
    if rebuilt.function is not method:
        return False
    stored = {a.value.id for a in method.self_assignments if a.attr == event.attr and isinstance(a.value, Name)}
    if event.attr in stored and rebuilt.parameters.get(event.attr) == event.attr:
        return True
    field = cls.field(event.attr)
    return field is not None and field.role is Role.STATIC and rebuilt.leaves.isdisjoint(method.self_reads)


@proposing
def _in_factory(event: AssignAttribute, cls: PytreeClass, evaluator: Evaluator) -> Proposal | None:
    """The fix that computes the field in a classmethod."""
    from jaxlint.rules.analyses.fixes.factory import computing_once

    method = event.place.method
    if method is None or cls.field(event.attr) is None or event.place.owner is not cls:
        return None
    return computing_once(cls, method, evaluator)


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
