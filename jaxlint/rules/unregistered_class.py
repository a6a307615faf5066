"""JAX108 unregistered-class."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Decorate, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.calls.transformed_classes import traced_by
from jaxlint.infer.choosing.given import MOST_HELPERS, is_plain
from jaxlint.infer.choosing.unregistered import is_unregistered, refused_class
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Cross, Event, Transformed
from jaxlint.infer.known.values import Container, Instance, Value, plain
from jaxlint.infer.transforms.applied import Applied, rebuilt_parameters
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import own_methods
from jaxlint.rules.analyses.instances.returned import returned_instances
from jaxlint.rules.base import ClassRule, EventRule, Problem
from jaxlint.symbols.outline import Function, Parameter
from jaxlint.syntax.expressions import Attribute, Call, Expr, Subscript, dotted
from jaxlint.syntax.statements import all_parts


class UnregisteredClass(ClassRule, EventRule):
    """
    ## What it does

    Finds instances of classes that nothing registers as a pytree, where they go into a function which `jax.jit`,
    `vmap`, `grad`, `lax.scan` and kin transform, or come out of it.

    Ordinary dataclasses are such classes.

    A method with `@jax.jit` takes its `self` like any other argument.

    ## Why is this bad?

    A transformation takes its arguments apart into arrays, and puts the results together again. JAX knows how to do
    that for tuples, lists, dicts, named tuples and registered classes. Any other object is one leaf, which is no array.

    ## What you will see

    `TypeError: Error interpreting argument to <function coast at …> as an abstract array. The problematic value is of
    type <class 'Momentum'> and was passed to the function at path m`. For a result: `TypeError: function coast at …
    traced for jit returned a value of type <class 'Momentum'>, which is not a valid JAX type`.

    ## Example

    ```python
    import dataclasses

    import jax

    @dataclasses.dataclass
    class Momentum:
        velocity: jax.Array
        decay: float

    @jax.jit
    def coast(m: Momentum) -> jax.Array:
        return m.velocity * m.decay
    ```

    ## Use instead

    ```python
    import dataclasses

    import jax

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Momentum:
        velocity: jax.Array
        decay: float

    @jax.jit
    def coast(m: Momentum) -> jax.Array:
        return m.velocity * m.decay
    ```

    ## Frameworks

    Ordinary classes and standard dataclasses, beside any framework. Subclasses of registered classes are JAX101's.
    equinox's filtered transformations hold what is no array static, and are not looked at.

    ## Fix safety

    A dataclass of the same file is decorated with `@jax.tree_util.register_dataclass`, with all its fields as data. The
    fix is unsafe: it becomes a pytree everywhere.

    ## When not to use it

    A class is not reported if it may be registered somewhere: by a decorator, a metaclass or a base class that cannot
    be seen, or by a call in a module that imports it; nor are interfaces, mixins, and classes with `__jax_array__`.
    Arguments that are static, bound by `functools.partial`, or not mapped over are fine, and so are those that
    `jax.grad` does not differentiate.

    ## References

    - [Custom pytree nodes](https://docs.jax.dev/en/latest/custom_pytrees.html)
    - [jax #2371](https://github.com/jax-ml/jax/issues/2371), [jax #15115](https://github.com/jax-ml/jax/issues/15115)
    """

    code = "JAX108"
    name = "unregistered-class"
    group = "declaring"
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    raises_at_once = True
    all_classes = True
    events = (Transformed, Cross)

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the methods that are compiled with their `self`."""
        functions = cls.module.outline.functions
        for names in cls.symbol.declaration.methods.values():
            method = functions[names[-1]]
            applied = _refusing(evaluator.calls.transformed.decorating(method, cls.module))
            if not applied or method.self_name not in rebuilt_parameters(method, applied):
                continue
            if _is_hidden(method, cls.module, evaluator) or not _takes_instance(cls, method, evaluator):
                continue
            if is_unregistered(cls, evaluator.model):
                how = f"`{method.name}` takes it as `{method.self_name}`"
                yield _problem(method.parameters[0].at, cls, how, applied[0], _registering(cls, cls.module, evaluator))

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at a transformed function, or at one of its arguments."""
        if isinstance(event, Cross):
            yield from _argument(event, evaluator)
        elif isinstance(event, Transformed) and event.function is not None and event.module is not None:
            yield from _declared(event, event.function, event.module, evaluator)


def _refusing(applied: tuple[Applied, ...]) -> tuple[Applied, ...]:
    """The transformations of JAX itself that take everything apart."""
    own = [a for a in applied if a.transform.is_of_jax]
    return tuple([a for a in own if a.refuses_non_arrays and not a.transform.filters])


def _is_hidden(function: Function, module: Module, evaluator: Evaluator) -> bool:
    """Whether something else may come between the caller and the transformation."""
    return evaluator.calls.transformed.is_wrapped(function, module)


def _takes_instance(cls: PytreeClass, method: Function, evaluator: Evaluator) -> bool:
    """Whether the first parameter of a method stands for the instance, not for what `Class.method(...)` is given."""
    if method.self_name == "self":
        return True
    body = evaluator.calls.body_of(FunctionSymbol(cls.module, method)) or ()
    names = _own_names(cls)
    reads = (p for p in all_parts(body) if isinstance(p, Attribute) and dotted(p.value) == method.self_name)
    return any(part.attr in names for part in reads)


def _argument(event: Cross, evaluator: Evaluator) -> Iterator[Problem]:
    """One argument of a call; one that the function declares is reported there."""
    refusing = _refusing(event.applied)
    cls = refused_class(event.value, evaluator.model) if refusing else None
    if cls is None or traced_by(event) is None:
        return
    function = event.function
    declared = next((p for p in function.parameters if p.name == event.parameter), None) if function else None
    if function is not None and declared is not None:
        if declared.name == function.self_name or _is_declared_there(declared, function, event, evaluator):
            return
    how = "it is passed on" if refusing[0].transform.runs else "a function is given one"
    if function is not None:
        how = f"`{function.name}` is given one"
    yield _problem(event.at, cls, how, refusing[0], _registering(cls, event.place.module, evaluator))


def _is_declared_there(declared: Parameter, function: Function, event: Cross, evaluator: Evaluator) -> bool:
    """Whether the declaration of a parameter tells what it is: there it is reported, or nothing is known.

    Where the body does not bear out what a parameter is annotated with, an instance that is made and given to it does.
    What has a default need not be given, and no transformation sees a default.
    """
    if declared.annotation is None or declared.default is not None or not _shows_body(function, event, evaluator):
        return False
    module = event.module or event.place.module
    value = evaluator.parameter(function, declared.name, module)
    cls = refused_class(value, evaluator.model)
    if cls is None or _is_used_as(cls, value, declared.name, FunctionSymbol(module, function), evaluator):
        return True
    return not _is_made_of(event.value, cls)


def _is_made_of(value: Value, cls: PytreeClass) -> bool:
    """Whether a value certainly is an instance of a class and of no subclass, or a list or the like of such."""
    given = plain(value)
    if isinstance(given, Container):
        items = (given.element,) if given.items is None else given.items
        return any(_is_made_of(item, cls) for item in items)
    return isinstance(given, Instance) and given.exact and given.cls == cls


def _shows_body(function: Function, event: Cross, evaluator: Evaluator) -> bool:
    """Whether the body can be seen that bears out what a parameter is annotated with."""
    module = event.module or event.place.module
    return evaluator.calls.body_of(FunctionSymbol(module, function)) is not None


def _declared(event: Transformed, function: Function, module: Module, evaluator: Evaluator) -> Iterator[Problem]:
    """The parameters of a transformed function that are annotated with a class, and the instances that it returns."""
    refusing = _refusing((event.applied,))
    refuses_results = event.applied.refuses_results and event.applied.transform.is_of_jax
    if not (refusing or refuses_results) or not (function.parameters or function.return_values):
        return
    if _is_hidden(function, module, evaluator):
        return
    around = (*evaluator.calls.transformed.decorating(function, module), event.applied)
    if event.applied.is_decorator and event.applied != next(iter(_refusing(around)), None):
        return  # the first one is reported
    rebuilt = rebuilt_parameters(function, [a for a in around if a.refuses_non_arrays])
    annotated = [p for p in function.parameters if p.annotation is not None and p.default is None]
    for parameter in annotated if not event.applied.transform.runs else ():
        if parameter.name in rebuilt and parameter.name != function.self_name:
            value = evaluator.parameter(function, parameter.name, module)
            cls = refused_class(value, evaluator.model)
            if cls is not None and _is_used_as(cls, value, parameter.name, FunctionSymbol(module, function), evaluator):
                at = parameter.at if event.applied.is_decorator else event.at
                how = f"`{function.name}` takes one as `{parameter.name}`"
                yield _problem(at, cls, how, refusing[0], _registering(cls, event.place.module, evaluator))
                return
    if event.applied.refuses_results and not function.is_generator and not function.is_async:
        for value, at in returned_instances(function, module, evaluator):
            cls = refused_class(value, evaluator.model)
            if cls is not None:
                place = at if event.applied.is_decorator else event.at
                fix = _registering(cls, event.place.module, evaluator)
                yield _problem(place, cls, f"`{function.name}` returns one", event.applied, fix)
                return


def _is_used_as(
    cls: PytreeClass, value: Value, name: str, symbol: FunctionSymbol, evaluator: Evaluator, depth: int = 0
) -> bool:
    """Whether the body bears out that a parameter is, or holds, instances of a class: an annotation alone may err.

    Attributes of it are read, none that the class does not have, and its items are not given to functions on arrays.
    Functions of the project to which it is handed on may do that.
    """
    names = _own_names(cls)
    is_one = isinstance(plain(value), Instance)
    resolver, scope = evaluator.model.resolver, symbol.declaration.inner_scope
    read = False
    for part in all_parts(evaluator.calls.body_of(symbol) or ()):
        if isinstance(part, Attribute):
            if is_one and dotted(part.value) == name and part.attr not in names:
                return False
            read = read or dotted(part.value) == name or part.attr in names
        elif isinstance(part, Call) and any(_is_item(given, name) for given in part.positional):
            called = resolver.resolve(part.func, symbol.module, scope)
            if isinstance(called, External) and called.name.startswith(("jax.", "numpy.")):
                return False
        elif isinstance(part, Call) and not read and depth < MOST_HELPERS:
            for inside, parameter in _handed_to(part, name, symbol, evaluator):
                read = read or _is_used_as(cls, value, parameter, inside, evaluator, depth + 1)
    return read


def _handed_to(
    call: Call, name: str, symbol: FunctionSymbol, evaluator: Evaluator
) -> Iterator[tuple[FunctionSymbol, str]]:
    """The function of the project to which a call hands a variable on, and the parameters for it."""
    taking = [number for number, given in enumerate(call.positional) if dotted(given) == name]
    if not taking or call.has_star:
        return
    called = evaluator.model.resolver.resolve(call.func, symbol.module, symbol.declaration.inner_scope)
    if isinstance(called, FunctionSymbol) and is_plain(called.declaration):
        positional = called.declaration.positional
        yield from ((called, positional[number]) for number in taking if number < len(positional))


def _own_names(cls: PytreeClass) -> set[str]:
    """The fields, methods and assigned attributes of a class and its bases."""
    names = {m.name for m in cls.members} | {n for c in cls.mro for n in c.symbol.declaration.methods}
    return names | {a.attr for c in cls.mro for f in own_methods(c) for a in f.self_assignments}


def _is_item(expr: Expr, name: str) -> bool:
    return isinstance(expr, Subscript) and dotted(expr.value) == name


@proposing
def _registering(cls: PytreeClass, module: Module, evaluator: Evaluator) -> Proposal | None:
    """The fix that registers a dataclass, which stands in the module, with all its fields as data."""
    if not cls.is_dataclass or cls.is_pytree or cls.module is not module or not cls.fields_known:
        return None
    written = spelled("jax.tree_util", module, evaluator.model.resolver, cls.symbol.declaration.scope)
    if written is None:
        return None
    change = Decorate(cls.symbol.declaration.name_at, (f"{written[0]}.register_dataclass",))
    return Proposal(f"Register `{cls.name}`", Applicability.UNSAFE, (change,), written[1])


def _problem(at: object, cls: PytreeClass, how: str, applied: Applied, fix: Proposal | None) -> Problem:
    kind = "dataclass" if cls.is_dataclass else "class"
    way_out = (
        "register it with `jax.tree_util.register_dataclass`"
        if cls.is_dataclass
        else "register it as a pytree, or hold it static"
    )
    return Problem(
        at=at,
        message=(
            f"`{cls.name}` is an ordinary {kind} and no pytree: {how}, and `{applied.transform.name}` refuses it"
            f" (TypeError); {way_out}"
        ),
        reason="what goes into a transformation, or comes out of it, is made of arrays in registered containers",
        help=way_out,
        subject=cls.symbol.full_name,
        fix=fix,
    )
