"""JAX401 frozen-assignment."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.failing import advising
from jaxlint.finding import Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead, Event
from jaxlint.libraries import linen
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.missing_members import misses_attribute
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.updating import is_left_to_class, update_text
from jaxlint.rules.analyses.bodies.lookups import is_belied
from jaxlint.rules.analyses.instances.methods import is_left_over
from jaxlint.rules.analyses.rebuilding.frozen import (
    assignment_error,
    in_construction,
    may_be_given_mutable_copy,
    may_be_in_construction,
    may_be_set_by_attribute,
    refuses_assignment,
)
from jaxlint.rules.analyses.rebuilding.frozen_modules import refused_by_module
from jaxlint.rules.base import BodyRule, EventRule, Problem
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.statements import For, target_names, walk

_VERBS = {"delete": "deleting", "augment": "changing"}
#: How `__init__` is misspelt.
_MISSPELT = frozenset({"__init", "__init_", "_init__", "__ini__", "__int__", "__inti__", "__intit__"})


class FrozenAssignment(EventRule, BodyRule):
    """
    ## What it does

    Finds assignments to attributes of frozen instances: `state.x = …`, `+=`, `del`, `setattr`, and
    attributes as targets of tuple assignments, `for` and `with`.

    ## Why is this bad?

    Frozen instances refuse assignment. The line raises as soon as it runs, which may be an hour into training.

    ## What you will see

    `dataclasses.FrozenInstanceError: cannot assign to field 'wind'`; with jax_dataclasses `Dataclass registered as
    pytree is immutable!`; with simple_pytree `AttributeError: <class 'A'> is immutable, trying to update field x`;
    with a NamedTuple `AttributeError: can't set attribute`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Weather:
        wind: jax.Array

    def push(sky: Weather, gust: jax.Array) -> Weather:
        sky.wind = sky.wind + gust
        return sky
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Weather:
        wind: jax.Array

    def push(sky: Weather, gust: jax.Array) -> Weather:
        return sky.replace(wind=sky.wind + gust)
    ```

    ## Frameworks

    flax.struct, TrainState, register_dataclass over a frozen dataclass, jax_dataclasses, chex with `frozen=True`,
    tjax, equinox, simple_pytree, penzai, mjx, NamedTuple. chex, nnx and treex are mutable, as is anything that is
    declared with `frozen=False` or `mutable=True`.

    Assignment is allowed in some places: with equinox and simple_pytree in `__init__`, `__post_init__` and helpers that
    are called only from there, with penzai in a custom `__init__`, with jax_dataclasses inside
    `with copy_and_mutate(x) as y` and in functions that are called there. Where `__init__` and `__post_init__` may not
    assign to `self`, that is JAX306.

    A module of flax.linen is no pytree, and as frozen outside of `setup` and what that calls alone; the fields are so
    in `setup`, too, and of a list that is assigned there it makes a tuple, of a dict a FrozenDict.

    ## Fix safety

    `sky.wind = gust` becomes `sky = sky.replace(wind=gust)`, in the spelling of the framework, where `sky` is a
    variable of the function that is used later, or was made by it, or a parameter that is returned. That is safe: the
    line could only raise. Assignments in a row to the same instance make one copy, where no value depends on what is
    assigned before it; so do the targets of one tuple. What a variable names is given by `**{name: gust}`, where all
    fields may be. Where a function changes a parameter (or `self`) and returns nothing, it returns the copy
    from then on, and callers in the file put that into the variable that they passed. That is unsafe. So is the fix of
    a parameter without annotation, as callers that are not seen may pass something else. What was taken out of a list
    or dict, or off an attribute, is put back there: `states[0] = sky`, in a loop over `enumerate(states)`, too. There
    is no fix where somebody else holds the instance (another variable, a list that it was appended to, a caller that
    goes on with it) and would not see the copy, and for functions that other modules call or that are handed on; nor
    where the copy would need an `__init__` that takes the fields as they are, and the class has another one.

    ## When not to use it

    Code that expects the error (`pytest.raises`, `try … except FrozenInstanceError`) is recognised and not reported.
    Nor is a parameter of which the function reads attributes that the annotated class does not have: another class is
    meant then. In a private method that nothing mentions the finding has low confidence; but one called `__init`,
    `__int__` or the like is taken for a misspelt `__init__`.

    ## References

    - [mujoco #2181](https://github.com/google-deepmind/mujoco/issues/2181)
    - [flax.struct](https://flax.readthedocs.io/en/latest/api_reference/flax.struct.html)
    """

    code = "JAX401"
    name = "frozen-assignment"
    group = "updates"
    since = "0.1.0"
    events = (AssignAttribute,)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at one assignment of an attribute."""
        assert isinstance(event, AssignAttribute)
        cls = event.receiver.cls
        if not refuses_assignment(event) or (event.how != "delete" and in_construction(event)):
            return  # what is assigned while an instance is made is JAX306's
        if may_be_in_construction(event, evaluator) or may_be_given_mutable_copy(event, evaluator):
            return
        if is_belied(event, evaluator) or may_be_set_by_attribute(event, evaluator):
            return  # it is an instance of another class, or the attribute takes it
        fact = cls.framework.deletion_fact
        is_deleted = fact is None or evaluator.model.target.holds(fact) is not False
        if event.how == "delete" and cls.framework.deletion and is_deleted:
            yield _deleted(event, cls)
            return
        from jaxlint.rules.analyses.fixes.rebinding import rebinding

        target = f"{event.receiver_text or ''}.{event.attr}" if event.attr else f"an attribute of {_name(event)}"
        verb = _VERBS.get(event.how, "assigning")
        yield Problem(
            at=event.at,
            message=(
                f"`{cls.name}` is frozen ({cls.framework.title}): {verb} {_quoted(target)} raises"
                f" {assignment_error(event)}; {_way_out(cls, event, evaluator)}"
            ),
            reason=f"instances of {cls.framework.title} classes are immutable; an update is a copy with changes",
            help=_way_out(cls, event, evaluator),
            confidence=_confidence(event, evaluator),
            subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{event.attr}",
            fix=None if _is_misspelt(event) else rebinding(event, evaluator),
        )

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a method of a module of flax.linen does to its `self`."""
        for refused in refused_by_module(code, evaluator):
            assert code.place.owner is not None
            cls = code.place.owner
            yield Problem(
                at=refused.at,
                message=(
                    f"`{cls.name}` is frozen ({linen.MODULE}): {refused.what} raises {refused.error}; {refused.way_out}"
                ),
                reason="a module is bound to its parameters anew for each call, and keeps nothing else",
                help=refused.way_out,
                subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{refused.attr}",
                raises_at_once=True,
            )


def _confidence(event: AssignAttribute, evaluator: Evaluator) -> Confidence | None:
    """How sure it is that the line raises; low where it stands in a method that nobody calls."""
    cls, method = event.receiver.cls, event.place.method
    if event.on_self and method is not None and not _is_misspelt(event) and is_left_over(method, cls, evaluator):
        return Confidence.LOW
    return Confidence.MEDIUM if cls.unknown_decorator else None


def _is_misspelt(event: AssignAttribute) -> bool:
    """Whether the method that assigns to `self` was to be the constructor, which may do that."""
    method = event.place.method
    is_allowed = "__init__" in event.receiver.cls.framework.assignable_in
    return is_allowed and event.on_self and method is not None and method.name in _MISSPELT


def _deleted(event: AssignAttribute, cls: PytreeClass) -> Problem:
    """Deleting is not refused by every framework; what is left is no longer an instance that can be rebuilt."""
    target = f"`{event.receiver_text or ''}.{event.attr}`" if event.attr else f"an attribute of {_name(event)}"
    return Problem(
        at=event.at,
        message=f"`{cls.name}` is frozen ({cls.framework.title}): deleting {target} {cls.framework.deletion}",
        reason=f"{cls.framework.title} does not refuse the deletion, but the instance has lost a field",
        help="build a new instance instead",
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{event.attr}",
    )


def _name(event: AssignAttribute) -> str:
    return f"`{event.receiver_text}`" if event.receiver_text else "the instance"


def _quoted(target: str) -> str:
    return target if target.startswith("an ") else f"`{target}`"


@advising
def _way_out(cls: PytreeClass, event: AssignAttribute, evaluator: Evaluator) -> str:
    """The update to write instead, and where its result goes."""
    from jaxlint.rules.analyses.fixes.copies import made_anew_help
    from jaxlint.rules.analyses.fixes.none_given import may_be_none
    from jaxlint.rules.analyses.fixes.rebinding import rebinding_help

    if event.how == "delete":
        return "build a new instance instead"
    if _is_misspelt(event):
        return "call the method `__init__`"
    name, attr = event.receiver_text, event.attr
    if anew := made_anew_help(cls, attr or "field"):
        return anew
    named_by = "" if event.named_by is None else event.place.module.source.segment(*place_of(event.named_by.at))
    named_by = named_by if named_by and "\n" not in named_by else "..."
    update = update_text(cls, name, attr, named_by, is_empty=may_be_none(cls, attr, event.place, evaluator))
    if name is None:
        return f"put a copy made with `{update}` in its place"
    if event.attr and cls.field(attr) is None and cls.method(attr) is not None:
        return f"make a copy with another value of the field that `{attr}` is computed from"
    if is_left_to_class(cls, attr):
        return f"set `{attr}` in `__init__`, which makes it part of the pytree, and make a copy with `{update}`"
    if event.attr and misses_attribute(cls, event.attr, evaluator.model):
        return f"declare a field `{attr}` and make a copy with `{update}`"
    if event.on_self:
        return f"return `{update}` and let the caller rebind it"
    if event.in_loop and _is_looped_over(name, event, evaluator):
        return f"make a new collection of copies: `{update}`"
    return rebinding_help(name, update, event.at, event.place, evaluator)


def _is_looped_over(name: str, event: AssignAttribute, evaluator: Evaluator) -> bool:
    """Whether a loop binds the name to one thing after another: to bind it anew changes nothing of these."""
    function = event.place.function
    body = None if function is None else evaluator.calls.body_of(FunctionSymbol(event.place.module, function))
    return any(isinstance(s, For) and name in target_names(s.target) for s in walk(body or ()))
