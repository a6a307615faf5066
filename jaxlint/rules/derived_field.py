"""JAX310 derived-field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import Event, Replace, Update
from jaxlint.infer.values import Instance, plain
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role, Unflatten
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.updating import REPLACE_FUNCTIONS
from jaxlint.rules.analyses.derived_once import derived_once, sources_of
from jaxlint.rules.base import EventRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Display, Expr, Lambda, Name, last_name
from jaxlint.syntax.statements import Assign, all_parts


class DerivedField(EventRule):
    """
    ## What it does

    Finds updates of a leaf from which another leaf was computed, where that other leaf stays as it was.

    ## Why is this bad?

    A leaf that is computed from others (a norm, a count, an inverse) is data like any other. Whoever replaces the one
    must compute the other again. An optimizer changes both as if they had nothing to do with each other.

    ## What you will see

    No error. The two contradict each other: the norm of the old vector next to the new vector.

    ## Example

    ```python
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    class Direction(eqx.Module):
        vector: jax.Array
        norm: jax.Array

        def __init__(self, vector: jax.Array):
            self.vector = vector
            self.norm = jnp.linalg.norm(vector)

    def turned(direction: Direction, vector: jax.Array) -> Direction:
        return eqx.tree_at(lambda d: d.vector, direction, vector)
    ```

    ## Use instead

    ```python
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    class Direction(eqx.Module):
        vector: jax.Array

        @property
        def norm(self) -> jax.Array:
            return jnp.linalg.norm(self.vector)

    def turned(direction: Direction, vector: jax.Array) -> Direction:
        return eqx.tree_at(lambda d: d.vector, direction, vector)
    ```

    ## Frameworks

    All. Where an update calls the constructor, a leaf that this computes is computed again; one that a classmethod has
    computed is not, nor one that `__post_init__` computes where it is None.

    ## Fix safety

    There is no automatic fix.

    ## When not to use it

    A leaf that only begins as a function of the other (a running mean, a target network) may go its own way. What
    the constructor does not compute, but some classmethod does, is reported with low confidence for that.

    ## References

    - [equinox #1034](https://github.com/patrick-kidger/equinox/issues/1034)
    """

    code = "JAX310"
    name = "derived-field"
    group = "construction"
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    events = (Update,)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what one update replaces, and at what is computed from it."""
        assert isinstance(event, Update)
        receiver = plain(event.receiver)
        if not isinstance(receiver, Instance) or not receiver.cls.is_pytree or event.call.has_star:
            return
        if receiver.refilled:
            return  # a tree of other things, as of what is trained
        cls = receiver.cls
        if event.place.owner is not None and event.place.owner in cls.mro and _is_making(event):
            return
        replaced = _replaced(event)
        if not replaced:
            return
        found = dict(_derived(cls, event, evaluator))
        for once, changed in derived_once(cls, replaced, evaluator):
            if _is_leaf(cls, once):
                found[once] = (min(changed), True)
        for derived, (source, is_always) in found.items():
            if source in replaced and derived not in replaced and not _is_updated_too(derived, event, evaluator):
                way_out = f"compute `{derived}` again, or make it a property"
                yield Problem(
                    at=event.at,
                    message=(
                        f"`{derived}` of `{cls.name}` is computed from `{source}`, which is replaced here alone:"
                        f" `{derived}` stays that of the old `{source}`; {way_out}"
                    ),
                    reason="a leaf that was computed once is data like any other",
                    help=way_out,
                    confidence=None if is_always else Confidence.LOW,
                )
                return


def _is_making(event: Update) -> bool:
    method = event.place.method
    return method is not None and method.name in ("__init__", "__post_init__")


def _is_updated_too(field: str, event: Update, evaluator: Evaluator) -> bool:
    """Whether the function around gives a value for the field anywhere else."""
    functions = event.place.functions
    body = evaluator.calls.body_of(FunctionSymbol(event.place.module, functions[0])) if functions else ()
    return any(isinstance(p, Call) and p.keyword(field) is not None for p in all_parts(body or ()))


def _replaced(event: Update) -> set[str]:
    """The fields that an update replaces."""
    if event.function == "equinox.tree_at":
        where = event.call.positional[0] if event.call.positional else None
        if not isinstance(where, Lambda) or len(where.params) != 1:
            return set()
        nodes = where.body.items if isinstance(where.body, Display) else (where.body,)
        root = where.params[0]
        return {n.attr for n in nodes if isinstance(n, Attribute) and isinstance(n.value, Name) and n.value.id == root}
    return {keyword.name for keyword in event.keywords} if isinstance(event, Replace) else set()


def _derived(cls: PytreeClass, event: Update, evaluator: Evaluator) -> Mapping[str, tuple[str, bool]]:
    """The leaves that are computed from another one and not again by the update: which, from which.

    With each, whether the constructor itself does so: one way to make an instance says less of what its leaves are.
    """
    found: dict[str, tuple[str, bool]] = {}
    calls_constructor = event.function in REPLACE_FUNCTIONS or cls.framework.unflatten is not Unflatten.BYPASS
    for owner in cls.mro:
        methods = owner.symbol.declaration.methods
        for name, qualnames in methods.items():
            function = owner.module.outline.functions[qualnames[-1]]
            if name in ("__init__", "__post_init__") and not calls_constructor:
                found.update((y, (x, True)) for y, x in _assigned(function, owner, evaluator))
            elif function.return_values:
                for value in function.return_values:
                    if isinstance(value, Call) and last_name(value.func) in ("cls", owner.name):
                        found.update((y, (x, False)) for y, x in _constructed(value) if y not in found)
    if calls_constructor and cls.method("__post_init__") is not None:
        return {}
    return {y: of for y, of in found.items() if _is_leaf(cls, y) and _is_leaf(cls, of[0])}


def _is_leaf(cls: PytreeClass, name: str) -> bool:
    field = cls.field(name)
    return field is not None and field.role is Role.LEAF


def _assigned(function: Function, owner: PytreeClass, evaluator: Evaluator) -> Iterator[tuple[str, str]]:
    """What a constructor computes from another attribute, or from the parameter that becomes one."""
    body = evaluator.calls.body_of(FunctionSymbol(owner.module, function))
    own = function.self_name
    kept: dict[str, str] = {p.name: p.name for p in function.parameters} if function.name == "__post_init__" else {}
    for statement in body or ():
        match statement:
            case Assign(targets=(Attribute(value=Name(id=name), attr=attr),), value=value) if name == own:
                if isinstance(value, Name):
                    kept[value.id] = attr
                elif (source := _source(value, own, kept)) is not None and source != attr:
                    yield attr, source


def _constructed(call: Call) -> Iterator[tuple[str, str]]:
    """What a call of the constructor computes from another argument of it."""
    kept = {a.value.id: a.keyword for a in call.args if a.keyword is not None and isinstance(a.value, Name)}
    for argument in call.args:
        if argument.keyword is not None and not isinstance(argument.value, Name):
            source = _source(argument.value, None, kept)
            if source is not None:
                yield argument.keyword, source


def _source(value: Expr, own: str | None, kept: Mapping[str, str]) -> str | None:
    """The one attribute of which a value is computed, if it is computed of one."""
    found = sources_of(value, own, kept)
    return next(iter(found)) if len(found) == 1 else None
