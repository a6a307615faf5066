"""JAX505 static-self."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from jaxlint.finding import Confidence
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import Event, Transformed
from jaxlint.project.resolution import ClassSymbol
from jaxlint.pytrees.hashing import hashes_identity, is_hashable
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.hashing import array_field, unhashable_instance
from jaxlint.rules.base import ClassRule, EventRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Name, is_none

#: Methods that run before an instance is used.
_PREPARING = ("init", "setup", "build", "load", "create", "compile", "prepare", "configure", "make", "register")
#: Calls that throw compiled programs away.
_FORGETTING = frozenset({"clear_cache", "_clear_cache", "clear_caches", "clear_backends"})


class StaticSelf(ClassRule, EventRule):
    """
    ## What it does

    Finds methods that are compiled with `self` as a static argument (`static_argnums=0`, `static_argnames="self"`)
    where that cannot work: in a class whose instances cannot be hashed, because they hold arrays or compare by value;
    and in a class that changes an attribute later which the compiled method reads.

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

    There is no automatic fix.

    ## When not to use it

    A static `self` is fine for classes that hold configuration only and never change. If the attribute that the rule
    names is only changed before the first call, silence it. Modules that call `clear_cache()` or `jax.clear_caches()`
    are taken to do so after each change.

    ## References

    - [JAX FAQ: how to use jit with methods](https://docs.jax.dev/en/latest/faq.html#how-to-use-jit-with-methods)
    - [jax #9023](https://github.com/jax-ml/jax/issues/9023), [equinox #11](https://github.com/patrick-kidger/equinox/issues/11)
    """

    code = "JAX505"
    name = "static-self"
    group = "transformations"
    since = "0.1.0"
    all_classes = True
    events = (Transformed,)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at `jax.jit(Class.method, static_argnums=0)`."""
        assert isinstance(event, Transformed)
        method, module = event.function, event.module
        if method is None or module is None or method.owner is None or event.applied.is_decorator:
            return
        if _is_classmethod(method):
            return
        static = event.applied.static_parameters(method)
        if event.applied.bound or static is None or method.self_name not in static:
            return
        cls = evaluator.model.build(ClassSymbol(module, module.outline.classes[method.owner]))
        problem = _unhashable(event.at, method, cls, evaluator)
        if problem is not None:
            yield problem

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the compiled methods that the class itself declares."""
        for method in _own_methods(cls):
            if not _holds_self_static(method, cls, evaluator):
                continue
            problem = _unhashable(method.at, method, cls, evaluator)
            if problem is not None:
                yield problem
            elif hashes_identity(cls):
                yield from _stale(method, cls, evaluator)


def _unhashable(at: object, method: Function, cls: PytreeClass, evaluator: Evaluator) -> Problem | None:
    """The problem of an instance that has no hash."""
    why = unhashable_instance(cls, evaluator)
    if why is None:
        return None
    way_out = why.way_out
    if cls.is_pytree:
        way_out = f"drop `{method.self_name}` from the static arguments: a pytree is traced as it is"
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


def _own_methods(cls: PytreeClass) -> list[Function]:
    functions = cls.module.outline.functions
    return [functions[names[-1]] for names in cls.symbol.declaration.methods.values()]


def _holds_self_static(method: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a method is compiled with its instance static (that of a classmethod is the class, which has a hash)."""
    if _is_classmethod(method):
        return False
    transformed = evaluator.calls.transformed
    for applied in transformed.decorating(method, cls.module):
        static = applied.static_parameters(method)
        if static is not None and method.self_name in static:
            return True
    return False


def _is_classmethod(method: Function) -> bool:
    return any(isinstance(d, Name) and d.id == "classmethod" for d in method.decorators)


def _stale(method: Function, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
    """The attributes that the compiled method reads and another method changes, or that make it compile anew."""
    inside = _run_by(method, cls)
    for attr in sorted(_reads(inside.values(), cls)):
        writer = _writer(attr, inside.keys(), cls)
        if writer is None or not _initialised(attr, cls) or _forgets(cls):
            continue
        yield Problem(
            at=method.at,
            message=(
                f"`{method.name}` of `{cls.name}` holds `{method.self_name}` static: after `{writer.name}` changes"
                f" `{attr}`, it still computes with the old value; pass `{attr}` as an argument"
            ),
            reason="an instance without `__eq__` is hashed by identity, which stays the same when an attribute changes",
            help=f"pass `{attr}` as an argument, or register `{cls.name}` as a pytree and drop the static argument",
            confidence=Confidence.MEDIUM,
        )
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
            confidence=Confidence.MEDIUM,
        )


def _run_by(method: Function, cls: PytreeClass) -> dict[str, Function]:
    """A method, and those that it calls on its `self`, by name."""
    found = {method.name: method}
    pending = [method]
    while pending:
        for name in pending.pop().self_calls - found.keys():
            called = cls.method(name)
            if called is not None:
                found[name] = called[1]
                pending.append(called[1])
    return found


def _reads(inside: Iterable[Function], cls: PytreeClass) -> set[str]:
    """The attributes that some methods read, other methods left out."""
    attrs = {attr for function in inside for attr in function.self_reads}
    return {attr for attr in attrs if cls.method(attr) is None}


def _writer(attr: str, inside: Collection[str], cls: PytreeClass) -> Function | None:
    """A method that assigns the attribute after construction, and not while the compiled one is traced."""
    passing = {*inside, *_called_in_construction(cls)}
    for ancestor in cls.mro:
        for function in _own_methods(ancestor):
            name = function.name
            if name not in passing and not name.strip("_").startswith(_PREPARING):
                if any(a.attr == attr for a in function.self_assignments):
                    return function
    return None


def _forgets(cls: PytreeClass) -> bool:
    """Whether a module of the class throws compiled programs away, which may be done after each change."""
    modules = {ancestor.module.path: ancestor.module for ancestor in cls.mro}
    return any(not unit.calls.isdisjoint(_FORGETTING) for module in modules.values() for unit in module.outline.units)


def _called_in_construction(cls: PytreeClass) -> set[str]:
    """The constructor, and the methods that it calls."""
    names = {"__init__", "__post_init__", "__new__", "__setattr__", "__setstate__"}
    for name in ("__init__", "__post_init__"):
        found = cls.method(name)
        if found is not None:
            names |= found[1].self_calls
    return names


def _initialised(attr: str, cls: PytreeClass) -> bool:
    """Whether the constructor gives the attribute a value, and not `None` for a later one."""
    found = cls.method("__init__")
    if found is None:
        return cls.field(attr) is not None
    values = [a.value for a in found[1].self_assignments if a.attr == attr]
    return any(v is not None and not is_none(v) for v in values)
