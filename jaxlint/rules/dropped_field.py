"""JAX313 dropped-field."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import AssignAttribute, Construct, Event, Replace
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.frozen import in_construction
from jaxlint.rules.analyses.traced import is_seen_to_cross
from jaxlint.rules.base import EventRule, Problem


class DroppedField(EventRule):
    """
    ## What it does

    Finds values that are put into a field which is no part of the pytree: one of `drop_fields`, or one with
    `init=False` in jax_dataclasses and tjax.

    ## Why is this bad?

    Flattening leaves the field out. Whenever the instance is rebuilt, by `jit`, `vmap`, `jax.tree.map`, the field has
    its default again, or what `__post_init__` gives it.

    ## What you will see

    No error. The field is `None` or `0.0` after the first compiled call.

    ## Example

    ```python
    import dataclasses
    import functools

    import jax

    @functools.partial(jax.tree_util.register_dataclass, data_fields=["x"], meta_fields=[], drop_fields=["cache"])
    @dataclasses.dataclass
    class State:
        x: jax.Array
        cache: float = 0.0

    @jax.jit
    def step(state: State) -> State:
        return State(x=state.x + 1, cache=1.0)
    ```

    ## Use instead

    ```python
    import dataclasses
    import functools

    import jax

    @functools.partial(jax.tree_util.register_dataclass, data_fields=["x", "cache"], meta_fields=[])
    @dataclasses.dataclass
    class State:
        x: jax.Array
        cache: float = 0.0

    @jax.jit
    def step(state: State) -> State:
        return State(x=state.x + 1, cache=1.0)
    ```

    ## Frameworks

    `jax.tree_util.register_dataclass` with lists, jax_dataclasses and tjax. What the flattening of one's own forgets is
    JAX112's.

    ## Fix safety

    There is no automatic fix.

    ## When not to use it

    A cache that is filled again when it is empty may be dropped.

    ## References

    - [jax.tree_util.register_dataclass](https://docs.jax.dev/en/latest/_autosummary/jax.tree_util.register_dataclass.html)
    """

    code = "JAX313"
    name = "dropped-field"
    group = "construction"
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    enabled = False
    events = (AssignAttribute, Construct, Replace)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what is put into fields."""
        match event:
            case AssignAttribute(receiver=receiver, attr=attr):
                if event.how == "delete" or receiver.cls.frozen is not False or in_construction(event):
                    return
                yield from _dropped(event.at, receiver.cls, attr, event, evaluator)
            case Construct(cls=made, arguments=given):
                for argument in given:
                    yield from _dropped(argument.at, made.cls, argument.name, event, evaluator)
            case Replace(receiver=receiver, keywords=given):
                for keyword in given:
                    yield from _dropped(keyword.at, receiver.cls, keyword.name, event, evaluator)


def _dropped(at: object, cls: PytreeClass, name: str, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
    field = cls.field(name)
    compiled = any(event.place.applied(function) for function in event.place.functions)
    if field is None or field.role is not Role.DROPPED or not (compiled or is_seen_to_cross(cls, evaluator)):
        return
    if not field.init and not isinstance(event, AssignAttribute):
        return  # the constructor does not take it
    way_out = f"make `{name}` a data field or a meta field"
    yield Problem(
        at=at,
        message=(
            f"`{name}` of `{cls.name}` is no part of the pytree: what is put into it is lost when the instance goes"
            f" through a transformation; {way_out}"
        ),
        reason="a field that is dropped has its default again whenever the instance is rebuilt",
        help=way_out,
    )
