"""JAX515 unhashable-static-argument."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import structs

from jaxlint.cst.changes import MakeHashable, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Cross, Event
from jaxlint.infer.known.promises import made_by_defaults
from jaxlint.infer.known.values import Array, Container, Instance, UnknownValue, Value, plain
from jaxlint.libraries.transforms import Kind
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.frameworks.jax_register import TRACERS_HAVE_NO_HASH
from jaxlint.pytrees.hashing import is_hashable
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.rules.analyses.fields.hashing import Unhashable, unhashable, unhashable_instance, unhashable_kind
from jaxlint.rules.analyses.fixes.decorating import freezing
from jaxlint.rules.analyses.fixes.options import is_written_in, tracing
from jaxlint.rules.analyses.instances.given_literals import around, calls_giving, giving
from jaxlint.rules.analyses.instances.hopes import is_made_in
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.makers import makers
from jaxlint.rules.analyses.instances.origins import Made, argument_at, given_by, maker_of
from jaxlint.rules.analyses.instances.updates_reaching import updates_reaching
from jaxlint.rules.base import BodyRule, EventRule, Problem
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Expr,
    Name,
    dotted,
    kind_written,
    last_name,
)

#: What makes a value hashable, by what is said of it.
_FUNCTIONS = {"pass a tuple": "tuple", "pass a frozenset": "frozenset"}


class UnhashableStaticArgument(EventRule, BodyRule):
    """
    ## What it does

    Finds calls of a jitted function with something unhashable for a static argument: a list, a dict, a set, an array, a
    pytree that holds arrays, an instance of a dataclass that is not frozen.

    ## Why is this bad?

    `jax.jit` looks up the compiled program by the hash of the static arguments. What cannot be hashed cannot be
    static: the call raises.

    ## What you will see

    `ValueError: Non-hashable static arguments are not supported. An error occurred while trying to hash an object of
    type <class 'Settings'>, Settings(width=4). The error was: TypeError: unhashable type: 'Settings'`.

    ## Example

    ```python
    import dataclasses
    import functools

    import jax
    import jax.numpy as jnp

    @dataclasses.dataclass
    class Settings:
        width: int = 4

    @functools.partial(jax.jit, static_argnums=1)
    def pad(x: jax.Array, settings: Settings) -> jax.Array:
        return jnp.pad(x, settings.width)

    padded = pad(jnp.ones(2), Settings())
    ```

    ## Use instead

    ```python
    import dataclasses
    import functools

    import jax
    import jax.numpy as jnp

    @dataclasses.dataclass(frozen=True)
    class Settings:
        width: int = 4

    @functools.partial(jax.jit, static_argnums=1)
    def pad(x: jax.Array, settings: Settings) -> jax.Array:
        return jnp.pad(x, settings.width)

    padded = pad(jnp.ones(2), Settings())
    ```

    ## Frameworks

    All. `static_argnums` and `static_argnames` of `jax.jit`, `static_broadcasted_argnums` of `jax.pmap`, and parameters
    that `jdc.jit` holds static by their annotation; not those of `jax.checkpoint`, which asks for no hash. A state of
    any framework is unhashable as soon as one of its leaves is an array.

    ## Fix safety

    A list becomes a tuple, and a set a frozenset, where it is passed: `[2, 3]` becomes `(2, 3)`, and `sizes` becomes
    `tuple(sizes)`. The fix is safe: the call could only raise. A class whose instances have no hash is declared with
    `frozen=True`, which is unsafe: they may be assigned to elsewhere. A pytree that holds arrays is traced, where the
    function declares the parameter with its class; that is unsafe, too.

    ## When not to use it

    There is no reason to turn it off: the call cannot work. What only an annotation calls a list, a dict or a set is
    not reported: `size: list[int]` is given `x.shape` more often than not. A field of a record is, if its default and
    all that the project gives it are lists. Nor is a record without a hash that neither
    the module of the call nor those of the function and of the class ever make: what fills `cfg: Config` may be a
    configuration of hydra or ml_collections, which have one.

    ## References

    - [jax #3701](https://github.com/jax-ml/jax/issues/3701), [flax #2410](https://github.com/google/flax/issues/2410)
    - [jax.jit](https://docs.jax.dev/en/latest/_autosummary/jax.jit.html)
    """

    code = "JAX515"
    name = "unhashable-static-argument"
    group = "transformations"
    about_values = True
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    raises_at_once = True
    events = (Cross,)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at one argument of a transformed function."""
        assert isinstance(event, Cross)
        function = event.function
        if not _is_hashed(event) or (function is not None and event.parameter == function.self_name):
            return
        why = unhashable(event.value, evaluator, event.made)
        if why is None or _is_only_hoped(event) or _is_hashed_as_tracer(event, evaluator):
            return
        problem = _problem(event, why, evaluator)
        made = event.made is not None and problem.fix is None
        yield structs.replace(problem, fix=_of_call(event, evaluator)) if made else problem

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the fields of records that are passed, as a whole or by one field."""
        for event in code.events:
            if isinstance(event, Cross) and _is_hashed(event) and event.made is None:
                if isinstance(plain(event.value), Instance) and unhashable(event.value, evaluator) is None:
                    made = _as_made(event, code, evaluator)
                    updated = _as_updated(event, code, evaluator) if made is None else None
                    if made is not None:
                        problem = _problem(event, made[0], evaluator)
                        yield problem if problem.fix is not None else structs.replace(problem, fix=made[1])
                    elif updated is not None:
                        yield _problem(event, updated, evaluator)
                elif isinstance(event.value, UnknownValue):
                    why = _as_passed(event, code, evaluator)
                    if why is not None:
                        yield _problem(event, why, evaluator)
            if isinstance(event, Cross) and _is_hashed(event) and _is_declared(event):
                given = argument_at(event.at, code.body)
                read = None if given is None else given[1]
                if given is None or not isinstance(read, Attribute):
                    continue
                cls = _class_of(read.value, given[0], code, evaluator)
                field = None if cls is None else cls.field(read.attr)
                kind = None if cls is None or field is None else _held_kind(field, cls, evaluator)
                if kind is not None:
                    yield _problem(event, unhashable_kind(kind), evaluator)


def _is_hashed(event: Cross) -> bool:
    """Whether an argument is static where the hash is asked for; `jax.checkpoint` closes over what is static."""
    holding = (applied for applied in event.applied if applied.static_argnums or applied.static_argnames)
    return event.static is True and any(applied.transform.kind is not Kind.CHECKPOINT for applied in holding)


def _is_hashed_as_tracer(event: Cross, evaluator: Evaluator) -> bool:
    """Whether a transformation around the compiled function traces an array, where tracers still have a hash."""
    outer = event.applied[0] if event.applied else None
    if outer is None or outer.static_argnums or outer.static_argnames or not isinstance(plain(event.value), Array):
        return False
    return evaluator.model.target.holds(TRACERS_HAVE_NO_HASH) is False


def _as_made(event: Cross, code: CodeRead, evaluator: Evaluator) -> tuple[Unhashable, Proposal | None] | None:
    """Why an instance cannot be hashed that one constructor call makes, and the fix: what that gives is made a tuple.

    The instance is a variable of the body, or a constant.
    """
    given = argument_at(event.at, code.body)
    path = None if given is None else dotted(given[1])
    made = None if given is None or path is None else maker_of(path, given[0], code, evaluator)
    if made is None or made.call.has_star:
        return None
    given_values = _given_values(made, evaluator)
    why = unhashable_instance(made.cls, evaluator, {field: value for field, (_, value) in given_values.items()})
    if why is None:
        return None
    return why, _of_fields(given_values, evaluator) if made.module is code.place.module else None


def _as_updated(event: Cross, code: CodeRead, evaluator: Evaluator) -> Unhashable | None:
    """Why an instance cannot be hashed that is given arrays before the call, or by the turn of a loop before."""
    given, value = argument_at(event.at, code.body), plain(event.value)
    if given is None or not isinstance(given[1], Name) or not isinstance(value, Instance):
        return None
    for update in updates_reaching(given[1].id, given[0], code):
        if update.receiver.cls is value.cls and not update.call.has_star:
            why = unhashable_instance(value.cls, evaluator, {k.name: k.value for k in update.keywords})
            if why is not None:
                return why
    return None


def _given_values(made: Made, evaluator: Evaluator) -> dict[str, tuple[Expr, Value]]:
    """What a constructor call gives the fields, as it is written and as it evaluates."""
    given = ((field.name, expr) for field, expr in given_by(made.call, made.cls))
    return {name: (expr, evaluator.static(Placed(expr, made.module, made.scope))) for name, expr in given}


@proposing
def _of_fields(given: Mapping[str, tuple[Expr, Value]], evaluator: Evaluator) -> Proposal | None:
    """The fix of an instance: the one field that cannot be hashed is given a tuple or a frozenset."""
    whys = ((expr, unhashable(value, evaluator)) for expr, value in given.values())
    held = [(expr, why) for expr, why in whys if why is not None]
    function = _FUNCTIONS.get(held[0][1].way_out) if len(held) == 1 else None
    if function is None:
        return None
    change = MakeHashable(held[0][0].at, function)
    return Proposal(f"Make it a {function}", Applicability.UNSAFE, (change,))


@proposing
def _of_call(event: Cross, evaluator: Evaluator) -> Proposal | None:
    """The fix of an instance that is made where it is passed."""
    place, value = event.place, plain(event.value)
    body = () if place.function is None else evaluator.calls.body_of(FunctionSymbol(place.module, place.function))
    given = argument_at(event.at, body or ())
    if given is None or not isinstance(given[1], Call) or not isinstance(value, Instance):
        return None
    made = Made(value.cls, given[1], place.module, place.scope)
    return _of_fields(_given_values(made, evaluator), evaluator)


def _as_passed(event: Cross, code: CodeRead, evaluator: Evaluator) -> Unhashable | None:
    """Why a variable of unknown value cannot be hashed, by the calls that make what it is, in callers too."""
    given = argument_at(event.at, code.body)
    if given is None or not isinstance(given[1], Name):
        return None
    made = makers(Placed(given[1], code.place.module, code.scope), evaluator)
    found = (unhashable(evaluator.static(one), evaluator) for one in made)
    return next((why for why in found if why is not None), None)


def _class_of(expr: Expr, call: Call, code: CodeRead, evaluator: Evaluator) -> PytreeClass | None:
    """The class of a record that is read in a call: by the constructor that makes it, or by what declares it."""
    held = LocalInstances.of(code, evaluator).value(expr)
    if isinstance(held, Instance):
        return held.cls
    path = dotted(expr)
    made = None if path is None else maker_of(path, call, code, evaluator)
    return None if made is None else made.cls


def _is_declared(event: Cross) -> bool:
    """Whether only an annotation says that the value is a list, a dict or a set."""
    value = plain(event.value)
    return isinstance(value, Container) and value.declared and value.kind in ("list", "dict", "set", "sequence")


def _problem(event: Cross, why: Unhashable, evaluator: Evaluator) -> Problem:
    parameter = f"`{event.parameter}`" if event.parameter is not None else "the argument"
    called = f" of `{event.function.name}`" if event.function is not None else ""
    return Problem(
        at=event.at,
        message=(
            f"{parameter}{called} is static and cannot be hashed ({why.what}): the call raises ValueError"
            f" (Non-hashable static arguments); {why.way_out}"
        ),
        reason="the hash of the static arguments is the key of the compiled program",
        help=why.way_out,
        fix=_fix(event, why, evaluator),
    )


def _is_only_hoped(event: Cross) -> bool:
    """Whether the value is said to be an ordinary dataclass of which neither module makes an instance."""
    value = plain(event.value)
    if event.made is not None or not isinstance(value, Instance) or value.cls.is_pytree:
        return False
    if all(one.params is None for one in value.cls.mro):
        return False
    return not is_made_in(value.cls, event.place.module, event.module)


@proposing
def _fix(event: Cross, why: Unhashable, evaluator: Evaluator) -> Proposal | None:
    """The fix: the value is made a tuple or a frozenset, or its class is frozen."""
    value = plain(event.value)
    if isinstance(value, Instance):
        if is_hashable(value.cls) is False and not value.cls.is_pytree:
            return freezing(value.cls, event.place.module, evaluator)
        is_here = all(is_written_in(applied, event.module, event.place.module) for applied in event.applied)
        if not value.cls.is_pytree or event.function is None or event.parameter is None or not is_here:
            return None
        declared = plain(evaluator.parameter(event.function, event.parameter, event.module or event.place.module))
        if not isinstance(declared, Instance) or declared.cls is not value.cls:
            return None  # others may pass what cannot be traced
        return tracing(event.parameter, event.function, event.applied)
    function = _FUNCTIONS.get(why.way_out)
    if function is None:
        return None
    change = MakeHashable(event.at, function)
    return Proposal(f"Make it a {function}", Applicability.SAFE, (change,))


# -- lists in the fields of records ----------------------------------------------------------------

_KINDS = frozenset({"list", "dict", "set"})
#: Methods that may put something else into a field than the constructor is given.
_CONSTRUCTING = ("__init__", "__new__", "__post_init__", "__getattribute__", "__setattr__")


def _held_kind(field: Field, cls: PytreeClass, evaluator: Evaluator) -> str | None:
    """What a field certainly holds by its default, and by all that the project gives it: "list", "dict" or "set".

    None where nothing makes an instance, or some constructor is given arguments that are not seen.
    """
    if field.is_converted or any(cls.method(name) for name in _CONSTRUCTING):
        return None
    if evaluator.model.subclasses(cls):
        return None
    kinds, names, is_made = set(_by_default(field, evaluator)), {cls.name}, False
    assigned = re.compile(rf"\.{re.escape(field.name)}\s*(?::[^=\n]*)?=(?!=)|setattr\(")
    for module in around(cls, evaluator):
        if assigned.search(module.source.text):
            return None
        for call, _ in calls_giving(field.name, names, module, evaluator):
            is_construction = last_name(call.func) in names
            if is_construction and call.has_star:
                return None
            is_made = is_made or is_construction
            value = giving(field, cls, call, names)
            if value is not None:
                kinds.add(kind_written(value))
    kind = kinds.pop() if len(kinds) == 1 else None
    return kind if is_made and kind in _KINDS else None


def _by_default(field: Field, evaluator: Evaluator) -> list[str | None]:
    """What the default is; nothing if there is none."""
    if field.factory is not None and isinstance(field.factory.expr, Name):
        return [field.factory.expr.id]
    made = made_by_defaults(field)
    if not made:
        return [] if field.has_default is False else [None]
    values = [plain(evaluator.static(placed)) for placed in made]
    return [value.kind if isinstance(value, Container) and not value.declared else None for value in values]
