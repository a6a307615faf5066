"""JAX601 chex-extra-attribute."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.finding import Confidence
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, Event
from jaxlint.pytrees.frameworks import CHEX
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.rebuilding.frozen import in_construction
from jaxlint.rules.analyses.under_trace.traced import is_seen_to_cross, stays_outside
from jaxlint.rules.base import EventRule, Problem

_SETTING = frozenset({"assign", "augment", "unpack", "loop", "with", "setattr"})


class ChexExtraAttribute(EventRule):
    """
    ## What it does

    Finds attributes of chex dataclasses that are assigned and are no fields.

    ## Why is this bad?

    chex flattens whatever stands in the `__dict__` of an instance. An attribute that is no field, such as a field's
    name with a typo, becomes one more leaf: another structure, and another compilation. When the instance is rebuilt,
    it is gone.

    ## What you will see

    No error, and the attribute is lost after `jax.tree.map` or `jit`. A text or a function there is refused:
    `TypeError: Error interpreting argument to <function step> as an abstract array. The problematic value is of type
    <class 'str'> and was passed to the function at path state.note.` Two trees of which only one has it: `ValueError`.

    ## Example

    ```python
    import chex
    import jax

    @chex.dataclass
    class State:
        params: chex.Array

    @jax.jit
    def update(state: State, params: chex.Array) -> State:
        state.parms = params
        return state
    ```

    ## Use instead

    ```python
    import chex
    import jax

    @chex.dataclass
    class State:
        params: chex.Array

    @jax.jit
    def update(state: State, params: chex.Array) -> State:
        state.params = params
        return state
    ```

    ## Frameworks

    `chex.dataclass`, unless it is frozen: then the assignment is refused (JAX401).

    ## Fix safety

    There is no automatic fix.

    ## When not to use it

    There is no reason to turn it off: declare the field, or keep the value elsewhere. Classes that hold a function or
    only settings, and that are not seen to go into a transformation, are not reported, and other classes that are not
    seen to go into one with low confidence only.

    ## References

    - [chex.dataclass](https://chex.readthedocs.io/en/latest/api.html#chex.dataclass)
    """

    code = "JAX601"
    name = "chex-extra-attribute"
    group = "frameworks"
    since = "0.1.0"
    events = (AssignAttribute,)

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Methods of chex dataclasses that assign to attributes of `self`."""
        return any(candidate.cls(owner).framework is CHEX for owner in candidate.unit.self_stores)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at one assignment."""
        assert isinstance(event, AssignAttribute)
        cls, attr = event.receiver.cls, event.attr
        if in_construction(event):
            return  # which runs again whenever the instance is rebuilt
        family = evaluator.model.family(cls, exact=event.receiver.exact)
        if (
            not attr
            or event.alternatives
            or event.how not in _SETTING
            or attr.startswith("__")
            or not all(map(_is_open, family))
        ):
            return
        if any(_declares(one, attr) or stays_outside(one, evaluator) for one in family):
            return
        way_out = f"declare `{attr}`, or keep it elsewhere"
        crosses = any(is_seen_to_cross(one, evaluator) for one in family)
        yield Problem(
            at=event.at,
            message=(
                f"`{attr}` is no field of `{cls.name}`: chex makes one more leaf of it, which is lost when the instance"
                f" is rebuilt; {way_out}"
            ),
            reason="chex flattens the `__dict__` of an instance, and rebuilds it of the fields",
            help=way_out,
            confidence=Confidence.HIGH if crosses else Confidence.LOW,
        )


def _is_open(cls: PytreeClass) -> bool:
    """Whether a class is certainly a chex dataclass that takes whatever is assigned."""
    known = cls.bases_known and cls.fields_known and not cls.unknown_decorator
    return known and cls.framework is CHEX and cls.registered is True and cls.frozen is False


def _declares(cls: PytreeClass, attr: str) -> bool:
    """Whether a class declares the attribute in any way, or answers for assignments itself."""
    if cls.field(attr) is not None or attr in cls.attributes_added or cls.answers("__setattr__"):
        return True
    scopes = (one.module.outline.scopes.get(one.symbol.declaration.qualname) for one in cls.mro)
    return any(scope is not None and attr in scope.bindings for scope in scopes)
