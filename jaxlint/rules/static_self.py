"""JAX505 static-self."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from jaxlint.cst.changes import Change, DropOption, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, Event, Transformed
from jaxlint.infer.known.values import is_classmethod
from jaxlint.infer.transforms.applied import Applied
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.pytrees.hashing import hashes_identity, is_hashable
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import own_methods
from jaxlint.rules.base import ClassRule, EventRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, last_name
from jaxlint.syntax.statements import all_parts


class StaticSelf(ClassRule, EventRule):
    """
    ## What it does

    Finds compiled methods whose static argument is `self` (`static_argnums=0`, `static_argnames="self"`) where that
    cannot work: in a class whose instances cannot be hashed, because they hold arrays or compare by value; and in a
    class that changes an attribute later which the compiled method reads, or of which other code sets such an attribute
    between two calls, or a method of what holds an instance goes on from the old value: `self.trainer.rate *= 0.5`.

    ## Why is this bad?

    `jax.jit` finds the compiled program by the hash of its static arguments. An instance that holds arrays has no hash,
    and the call raises. An ordinary instance is hashed by its identity: it stays the same key when one of its
    attributes changes, so that the program which was compiled for the old value runs on. It also compiles once
    for every instance.

    ## What you will see

    `ValueError: Non-hashable static arguments are not supported. An error occurred while trying to hash an object of
    type <class 'Agent'>, …`, or no error at all, and the results of the old value.

    ## Example

    ```python
    import functools

    import jax
    from flax import struct

    @struct.dataclass
    class Agent:
        weights: jax.Array

        @functools.partial(jax.jit, static_argnums=0)
        def act(self, observation: jax.Array) -> jax.Array:
            return self.weights @ observation
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Agent:
        weights: jax.Array

        @jax.jit
        def act(self, observation: jax.Array) -> jax.Array:
            return self.weights @ observation
    ```

    ## Frameworks

    All, and ordinary classes. The pytree dataclasses of all frameworks hash their fields or cannot be hashed at
    all; nnx and treex modules, registered classes without `__eq__` and ordinary classes are hashed by identity.

    ## Fix safety

    `self` is taken from the static arguments where the class is a pytree. The fix is safe where the call could only
    raise, and unsafe where it compiled for each instance. A dataclass that is no pytree, and has no hash, is declared
    with `frozen=True`; that is unsafe. An attribute that changes becomes an argument of the method, and callers pass
    it, where they stand in the same module and the method itself computes with it. That is unsafe: it is traced then.

    ## When not to use it

    A static `self` is fine for classes that hold configuration only and never change. If the attribute that the rule
    names is only changed before the first call, suppress it. Modules that call `clear_cache()` or `jax.clear_caches()`
    are taken to do so after each change. What a method takes under the name that the constructor has for it, and works
    with, is reported with low confidence: it may be the same object again. So are the compilations for each instance of
    a class with arrays of which the program is seen to make one instance, in no loop, method or function but `main`.

    ## References

    - [JAX FAQ: how to use jit with methods](https://docs.jax.dev/en/latest/faq.html#how-to-use-jit-with-methods)
    - [jax #9023](https://github.com/jax-ml/jax/issues/9023), [equinox #11](https://github.com/patrick-kidger/equinox/issues/11)
    """

    code = "JAX505"
    name = "static-self"
    group = "transformations"
    since = "0.1.0"
    all_classes = True
    events = (Transformed, AssignAttribute)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at `jax.jit(Class.method, static_argnums=0)`, and at attributes that are set outside of their class."""
        if isinstance(event, AssignAttribute) and not event.on_self:
            yield from _set_outside(event, evaluator)
        if not isinstance(event, Transformed):
            return
        method, module = event.function, event.module
        if method is None or module is None or method.owner is None or event.applied.is_decorator:
            return
        if is_classmethod(method):
            return
        static = event.applied.static_parameters(method)
        if event.applied.bound or static is None or method.self_name not in static:
            return
        cls = evaluator.model.build(ClassSymbol(module, module.outline.classes[method.owner]))
        problem = _unhashable(event.at, method, cls, evaluator)
        if problem is not None:
            yield replace(problem, fix=_dropping([event.applied], method, cls, Applicability.SAFE, evaluator))

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the compiled methods that the class itself declares."""
        for method in own_methods(cls):
            if not _holds_self_static(method, cls, evaluator):
                continue
            problem = _unhashable(method.at, method, cls, evaluator)
            if problem is not None and _is_run_by_others(cls, evaluator):
                return
            if problem is not None:
                yield replace(problem, fix=_decorator_fix(method, cls, Applicability.SAFE, evaluator))
            elif hashes_identity(cls):
                yield from _stale(method, cls, evaluator)


def _set_outside(event: AssignAttribute, evaluator: Evaluator) -> Iterator[Problem]:
    """The problem of an attribute that is set between two calls of a compiled method which reads it."""
    from jaxlint.rules.analyses.changes.compiled_anew import may_compile_again, static_beside_self
    from jaxlint.rules.analyses.changes.constant_attributes import is_constant
    from jaxlint.rules.analyses.changes.on_the_host import traced_with
    from jaxlint.rules.analyses.changes.set_between import called_around, called_method
    from jaxlint.rules.analyses.changes.stale import FORGETTING, forgets, is_read_harmlessly, reads
    from jaxlint.rules.analyses.fixes.passed_attributes import passing_attribute

    cls, attr, place = event.receiver.cls, event.attr, event.place
    function, path = place.function, event.receiver_text
    if path is None or function is None or event.alternatives or place.applied(function):
        return
    own = {method.name: method for one in reversed(cls.mro) for method in own_methods(one)}
    compiled = [method for method in own.values() if method.decorators and _holds_self_static(method, cls, evaluator)]
    inside = {method.name: traced_with(method, cls, evaluator) for method in compiled}
    names = {
        name
        for name, run in inside.items()
        if attr in reads(run.values(), cls) and not is_read_harmlessly(attr, run, cls, evaluator)
    }
    if not names or not hashes_identity(cls) or forgets(cls):
        return
    body = evaluator.calls.body_of(FunctionSymbol(place.module, function)) or ()
    calls = called_around(event.at, path, names, body)
    if calls is None or any(last_name(part) in FORGETTING for part in all_parts(body) if isinstance(part, Attribute)):
        return
    called = called_method(calls[0], path)
    decorating = evaluator.calls.transformed.decorating(own[called], cls.module)
    if any(may_compile_again(*calls, static_beside_self(applied, own[called])) for applied in decorating):
        return
    if is_constant(attr, cls, evaluator, place.module):
        return
    yield Problem(
        at=event.at,
        message=(
            f"`{attr}` of `{cls.name}` is set between two calls of `{called}`, which holds its `self` static: the"
            f" second one still computes with the old value; pass `{attr}` as an argument"
        ),
        reason="an instance without `__eq__` is hashed by identity, which stays the same when an attribute changes",
        help=f"pass `{attr}` as an argument, or register `{cls.name}` as a pytree and drop the static argument",
        fix=passing_attribute(attr, own[called], cls, place.module, evaluator),
    )


def _unhashable(at: object, method: Function, cls: PytreeClass, evaluator: Evaluator) -> Problem | None:
    """The problem of an instance that has no hash."""
    from jaxlint.rules.analyses.fields.hashing import unhashable_instance

    why = unhashable_instance(cls, evaluator)
    if why is None:
        return None
    way_out = why.way_out
    if cls.is_pytree:
        way_out = f"drop `{method.self_name}` from the static arguments: a pytree is traced as it is"
        if any(one.transform.name == "jax.pmap" for one in evaluator.calls.transformed.decorating(method, cls.module)):
            way_out = f"give `{method.self_name}` the axis None in `in_axes` instead of holding it static"
    elif is_hashable(cls) is not False:
        way_out = f"register `{cls.name}` as a pytree, and drop `{method.self_name}` from the static arguments"
    return Problem(
        at=at,
        message=(
            f"`{method.name}` of `{cls.name}` holds `{method.self_name}` static and {why.what}: the call raises"
            f" ValueError (Non-hashable static arguments); {way_out}"
        ),
        reason="the hash of the static arguments is the key of the compiled program",
        help=way_out,
    )


def _is_run_by_others(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the methods of a class without a hash may run for instances of a subclass alone, which has one."""
    from jaxlint.rules.analyses.fields.hashing import unhashable_instance
    from jaxlint.rules.analyses.instances.instantiated import constructing_units

    having = (unhashable_instance(subclass, evaluator) is None for subclass in evaluator.model.subclasses(cls))
    return any(having) and not constructing_units(cls, evaluator)


def _holds_self_static(method: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a method is compiled with its instance static (that of a classmethod is the class, which has a hash)."""
    if is_classmethod(method):
        return False
    transformed = evaluator.calls.transformed
    for applied in transformed.decorating(method, cls.module):
        static = applied.static_parameters(method)
        if static is not None and method.self_name in static:
            return True
    return False


def _stale(method: Function, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
    """The attributes that the compiled method reads and another method changes, or that make it compile anew."""
    from jaxlint.rules.analyses.changes.moved_by_holder import moved_by_holder
    from jaxlint.rules.analyses.changes.on_the_host import traced_with
    from jaxlint.rules.analyses.changes.set_each_time import set_each_time
    from jaxlint.rules.analyses.changes.stale import changing_method, forgets, initialised, is_given_again, reads
    from jaxlint.rules.analyses.fields.hashing import array_field
    from jaxlint.rules.analyses.fixes.passed_attributes import passing_attribute
    from jaxlint.rules.analyses.instances.made_once import is_made_once

    inside = traced_with(method, cls, evaluator)
    unsure: Problem | None = None
    for attr in sorted(reads(inside.values(), cls)):
        writer, named = changing_method(attr, inside, cls, evaluator), ""
        by_holder = moved_by_holder(attr, inside, cls, evaluator) if writer is None else None
        if by_holder is not None:
            writer, named = by_holder[1], f" of `{by_holder[0].name}`"
        if writer is None or forgets(cls):
            continue
        if not initialised(attr, cls) and not set_each_time(attr, writer, method, cls, evaluator):
            continue
        problem = Problem(
            at=method.at,
            message=(
                f"`{method.name}` of `{cls.name}` holds `{method.self_name}` static: after `{writer.name}`{named}"
                f" changes `{attr}`, it still computes with the old value; pass `{attr}` as an argument"
            ),
            reason="an instance without `__eq__` is hashed by identity, which stays the same when an attribute changes",
            help=f"pass `{attr}` as an argument, or register `{cls.name}` as a pytree and drop the static argument",
            confidence=Confidence.MEDIUM,
            fix=passing_attribute(attr, method, cls, cls.module, evaluator),
        )
        if not is_given_again(attr, writer, cls):
            yield problem
            return
        unsure = unsure or replace(problem, confidence=Confidence.LOW)
    if unsure is not None:
        yield unsure
        return
    field = array_field(cls, evaluator) if cls.is_pytree and cls.registered else None
    if field is not None:
        yield Problem(
            at=method.at,
            message=(
                f"`{method.name}` of `{cls.name}` holds `{method.self_name}` static, which holds arrays in"
                f" `{field.name}`: it compiles anew for every instance, with its arrays as constants; drop"
                f" `{method.self_name}` from the static arguments"
            ),
            reason="an instance without `__eq__` is hashed by identity; its arrays are part of the compiled program",
            help=f"drop `{method.self_name}` from the static arguments: a pytree is traced as it is",
            confidence=Confidence.LOW if is_made_once(cls, evaluator) else Confidence.MEDIUM,
            fix=_decorator_fix(method, cls, Applicability.UNSAFE, evaluator),
        )


@proposing
def _decorator_fix(method: Function, cls: PytreeClass, level: Applicability, evaluator: Evaluator) -> Proposal | None:
    """The fix of the decorators of a method."""
    return _dropping(evaluator.calls.transformed.decorating(method, cls.module), method, cls, level, evaluator)


@proposing
def _dropping(
    every: Iterable[Applied], method: Function, cls: PytreeClass, level: Applicability, evaluator: Evaluator
) -> Proposal | None:
    """The fix: the instance of a pytree class is no static argument any more."""
    from jaxlint.rules.analyses.fixes.decorating import freezing

    if is_hashable(cls) is False and not cls.is_pytree:
        others = (one.params for one in evaluator.model.subclasses(cls))
        are_frozen = all(params is None or params.frozen for params in others)  # or they could not inherit from it
        return freezing(cls, cls.module, evaluator) if are_frozen else None
    if not cls.is_pytree or cls.registered is not True:
        return None
    changes: list[Change] = []
    positional = method.positional
    for applied in every:
        numbers = tuple(n for n in applied.static_argnums or () if n in (0, -len(positional)))
        if numbers:
            changes.append(DropOption(applied.at, "static_argnums", numbers))
        if method.self_name is not None and method.self_name in (applied.static_argnames or ()):
            changes.append(DropOption(applied.at, "static_argnames", (method.self_name,)))
    if len(changes) != 1:
        return None
    return Proposal(f"Drop `{method.self_name}` from the static arguments", level, tuple(changes))
