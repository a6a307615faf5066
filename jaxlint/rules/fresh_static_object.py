"""JAX210 fresh-static-object."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Construct, Replace
from jaxlint.infer.known.values import UNKNOWN, Instance, UnknownValue, Value, is_classmethod, plain
from jaxlint.libraries.transforms import LAST_NAMES
from jaxlint.libraries.updates import REPLACE_FUNCTIONS
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.pytrees.updating import is_train_state
from jaxlint.rules.analyses.fields.freshness import Freshness, is_held
from jaxlint.rules.base import BodyRule, ClassRule, Problem
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Comprehension,
    Expr,
    Lambda,
    Name,
    dotted,
    last_name,
    root,
)
from jaxlint.syntax.statements import (
    Assign,
    For,
    Statement,
    While,
    bound_names,
    bound_once,
    has_variable,
    parts,
    target_names,
    walk,
)

if TYPE_CHECKING:
    from jaxlint.infer.choosing.waiting import Candidate
    from jaxlint.rules.analyses.fields.fresh_arguments import FreshArgument


class _Put(msgspec.Struct, frozen=True):
    """Something new that is put into a static field."""

    at: object
    cls: PytreeClass
    field: Field
    what: str
    #: The call of a loop that makes the instance; None where it is unknown.
    made: Call | None = None
    #: Whether that call makes a list of such instances.
    in_list: bool = False
    #: What is put there, where it stands in the loop itself.
    expr: Expr | None = None
    #: Whether the constructor makes it, whatever it is given.
    in_constructor: bool = False
    #: The function that makes the instance, where a loop calls it.
    by: str = ""


class FreshStaticObject(BodyRule, ClassRule):
    """
    ## What it does

    Finds static fields that are given a new object each time: lambdas, partials, optimizers, compiled functions and
    nans in each turn of a loop or comprehension whose instances go into a compiled function, by the constructor or as
    an argument of it, and defaults that are another one for each instance.

    Static arguments that are given such objects in each turn are found, too, and instances of classes that compare by
    identity.

    ## Why is this bad?

    A static field is part of the key by which JAX finds what it has compiled. Two lambdas are never equal, nor are two
    `functools.partial`, two `jax.jit(f)` or two `optax.adam(1e-3)`: each turn compiles the whole function again.

    ## What you will see

    One compilation per step, and a memory that grows. Where two such instances meet: `ValueError: pytree structure
    error: different pytree metadata at key path`.

    ## Example

    ```python
    import jax
    import optax
    from flax.training.train_state import TrainState

    @jax.jit
    def train_step(state: TrainState, grads) -> TrainState:
        return state.apply_gradients(grads=grads)

    def train(state: TrainState, grads, rates):
        for rate in rates:
            state = state.replace(tx=optax.sgd(rate))
            state = train_step(state, grads)
        return state
    ```

    ## Use instead

    ```python
    import jax
    import optax
    from flax.training.train_state import TrainState

    @jax.jit
    def train_step(state: TrainState, grads) -> TrainState:
        return state.apply_gradients(grads=grads)

    def train(params, grads, steps: int):
        tx = optax.sgd(optax.exponential_decay(0.1, 100, 0.9))
        state = TrainState.create(apply_fn=None, params=params, tx=tx)
        for _ in range(steps):
            state = train_step(state, grads)
        return state
    ```

    ## Frameworks

    All that have static fields. `eqx.filter_jit` holds functions static that are no static fields, too: those count as
    well where the turn passes the instance to it.

    ## Fix safety

    What stands in the loop, and asks nothing of it, is bound to a variable in front of the loop. The fix is unsafe: all
    turns have the same object then. A name or a number that is another one in each turn stays.

    ## When not to use it

    A loop over a few settings, each of which is trained for long, is worth its compilations: where the turn has
    a loop of its own, or makes a static argument of what it binds, the finding is of low confidence, unless that trains
    on the state that got something new, in a loop through all epochs. What is made at one turn of a loop only
    (`if step == 100:`), or at some that are listed (`if step in milestones:`), is not reported.

    ## References

    - [optax #353](https://github.com/google-deepmind/optax/issues/353), [optax #197](https://github.com/google-deepmind/optax/issues/197)
    - [flax #5548](https://github.com/google/flax/issues/5548)
    """

    code = "JAX210"
    name = "fresh-static-object"
    group = "roles"
    severity = Severity.WARNING
    about_values = True
    since = "0.1.0"
    confidence = Confidence.MEDIUM

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Loops that call compiled functions, and functions which make instances, or update some in this module."""
        from jaxlint.infer.choosing.renamed import UPDATES

        unit, module, given = candidate.unit, candidate.module, candidate.given
        if unit.calls.isdisjoint(LAST_NAMES | given.model.project_index.transformed_names):
            return False
        if unit.calls.isdisjoint(given.makers_imported(module) | candidate.calling(UPDATES)):
            return False
        return any(" for " in f" {row}" for row in module.source.lines[unit.first - 1 : unit.last])

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what makes the defaults of the class's own static fields."""
        for field in cls.static_fields:
            if field.owner != cls.symbol or field.factory is None:
                continue
            factory = field.factory
            made = factory.expr.body if isinstance(factory.expr, Lambda) else None
            fresh = Freshness(factory.module, factory.scope, (), evaluator)
            what = fresh.named(factory.expr) if made is None else fresh.of(made)
            if what is not None:
                way_out = f"make `{field.name}` a data field, or give all instances the same object"
                yield Problem(
                    at=field.at,
                    message=(
                        f"static field `{field.name}` of `{cls.name}` gets {what} of its own in each instance: every"
                        f" instance compiles again; {way_out}"
                    ),
                    reason=_REASON,
                    help=way_out,
                )

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what the loops of a body put into static fields."""
        from jaxlint.rules.analyses.bodies.loops import classes_compiled
        from jaxlint.rules.analyses.bodies.turns import Turn
        from jaxlint.rules.analyses.fields.fresh_arguments import fresh_arguments
        from jaxlint.rules.analyses.fields.seldom_moved import happens_seldom
        from jaxlint.rules.analyses.fixes.hoisting import making_once
        from jaxlint.rules.analyses.under_trace.traced import is_seen_to_cross

        compiled = classes_compiled(code)
        for around, inside in _turns(code):
            for argument in fresh_arguments(around, inside, code, evaluator):
                yield _problem_of_argument(argument, around, code)
            fresh = Freshness(code.place.module, code.scope, around, evaluator, code)
            calls = {id(part): part for part in inside if isinstance(part, Call)}
            made = [*_puts(code, calls, fresh, around), *_by_factories(calls.values(), code, evaluator)]
            for put in made:
                if happens_seldom((put.made or put).at, around):
                    continue
                is_static = put.field.role is Role.STATIC  # what is none is held static by what filters leaves
                if put.cls in compiled or (is_static and is_seen_to_cross(put.cls, evaluator)):
                    turn = Turn(put.made, put.in_list, around, inside)
                    is_long = turn.runs_long(put.at) and not _is_trained_on(put, around, code, evaluator)
                    is_guess = is_long or not turn.is_used(put.cls)
                    is_guess = is_guess or (put.in_constructor and put.cls not in compiled)
                    problem = _problem(put, Confidence.LOW if is_guess else None, together=not around)
                    once = None if put.what == "a value" else put.expr
                    loop = around[0] if around else None
                    fix = None if once is None else making_once(once, put.field.name, loop, code)
                    yield msgspec.structs.replace(problem, fix=fix)
        for put in _at_each_call(code, compiled, evaluator) if compiled else ():
            yield _problem(put, Confidence.LOW)  # a function that trains for long is worth its compilation


def _is_trained_on(put: _Put, around: tuple[Statement, ...], code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a loop through all epochs gives a state that its inner loops train on another object at each of them.

    That is no setting to be tried.
    """
    from jaxlint.rules.analyses.fields.swept import is_counted

    loop = around[0] if around else None
    if not isinstance(loop, For) or not is_counted(loop.iterable, code.place.module, code.scope, evaluator):
        return False
    updating = [s for s in loop.body if isinstance(s, Assign) and s.value is put.made]
    updated = {name for s in updating for name in bound_names(s) if has_variable(s.value, name)}
    inner = walk(tuple(s for s in loop.body if isinstance(s, (For, While))), nested=False)
    steps = (s for s in inner if isinstance(s, Assign) and isinstance(s.value, Call))
    return any(name in updated and has_variable(s.value, name) for s in steps for name in bound_names(s))


def _turns(code: CodeRead) -> Iterator[tuple[tuple[Statement, ...], Iterable[Expr]]]:
    """What runs in each turn of the loops of a body: of statements, and of comprehensions outside of these."""
    from jaxlint.rules.analyses.bodies.loops import outermost_loops

    seen: set[int] = set()
    for loop in outermost_loops(code.body):
        inside = code.contents.in_loop(loop)
        seen.update(map(id, inside))
        yield (loop,), inside
    for one in code.contents.of(Comprehension):
        if id(one) not in seen:
            conditions = [condition for clause in one.clauses for condition in clause.conditions]
            yield (), [part for expr in (one.element, *conditions) for part in parts(expr, nested=False)]


_MAX_DEPTH = 3
_REASON = "static fields are compared with ==, and a new object is equal to no other"


def _puts(code: CodeRead, inside: dict[int, Call], fresh: Freshness, around: tuple[Statement, ...]) -> Iterator[_Put]:
    """What the updates and constructions in a loop put into static fields."""
    from jaxlint.rules.analyses.fields.keeping import is_stored

    for event in code.events:
        if isinstance(event, Replace) and (event.rebinds or event.into_jit):
            cls = event.receiver.cls
        elif isinstance(event, Construct):
            cls = event.cls.cls
        else:
            continue
        if id(event.call) not in inside or (isinstance(event, Replace) and _is_another_each_turn(event, around)):
            continue
        given = event.keywords if isinstance(event, Replace) else event.arguments
        exprs = {id(a.at): a.value for a in event.call.args}
        for argument in given:
            field, expr = cls.field(argument.name), exprs.get(id(argument.at))
            what = None if expr is None else fresh.of(expr)
            if what is not None and field is not None and is_held(field, cls, what) and is_stored(field.name, cls):
                yield _Put(argument.at, cls, field, what, event.call, expr=expr)
        for field, what in fresh.of_constructor(cls) if isinstance(event, Construct) else ():
            yield _Put(event.call.at, cls, field, what, event.call, in_constructor=True)


def _at_each_call(code: CodeRead, compiled: Collection[PytreeClass], evaluator: Evaluator) -> Iterator[_Put]:
    """What the constructors of instances, which a function makes and compiles for, put into fields at each call of it.

    It is called in a loop, here or in a module that imports this one.
    """
    from jaxlint.rules.analyses.instances.callers_in_loops import callers_in_loops

    function, module = code.function, code.place.module
    made = [e for e in code.events if isinstance(e, Construct) and not e.in_loop and e.cls.cls in compiled]
    if function is None or not made:
        return
    fresh = Freshness(module, code.scope, (), evaluator, code)
    puts = [
        _Put(event.call.at, event.cls.cls, field, what, in_constructor=True, by=function.name)
        for event in made
        for field, what in fresh.of_constructor(event.cls.cls)
    ]
    homes = (module, *evaluator.model.importers(module)) if puts else ()
    if any(next(callers_in_loops(function, home, module, evaluator), None) is not None for home in homes):
        yield from puts


def _is_another_each_turn(update: Replace, around: tuple[Statement, ...]) -> bool:
    """Whether what is updated is the variable of a loop: each turn has an instance of its own."""
    start = None if update.base is None else root(update.base)
    targets = {
        name for loop in walk(around, nested=False) if isinstance(loop, For) for name in target_names(loop.target)
    }
    return isinstance(start, Name) and start.id in targets


def _by_factories(calls: Iterable[Call], code: CodeRead, evaluator: Evaluator) -> Iterator[_Put]:
    """What functions that are called put into static fields of the instances that they make and return.

    It is said where they do so, if that is in this module.
    """
    seen: set[object] = set()
    for call in calls:
        symbol = _function(call.func, code, evaluator)
        if symbol is None or symbol.key in seen:
            continue
        seen.add(symbol.key)
        wrapped = evaluator.calls.transformed.of(symbol.declaration, symbol.module)
        put = None if wrapped else _returned(symbol, partial(_given, symbol, call, code, evaluator), evaluator)
        if put is not None:
            at = put.at if symbol.module is code.place.module else call.at
            yield msgspec.structs.replace(put, at=at, made=call)


def _function(func: Expr, code: CodeRead, evaluator: Evaluator) -> FunctionSymbol | None:
    """The function of the project that is called, or the method of a class or of an instance in a variable."""
    from jaxlint.rules.analyses.instances.methods_called import class_method, held_method, own_method

    symbol = evaluator.model.resolver.resolve(func, code.place.module, code.scope)
    if isinstance(symbol, FunctionSymbol):
        return symbol
    own = own_method(func, code.place.module, code.scope, evaluator)
    return own or held_method(func, code, evaluator) or class_method(func, code, evaluator)


def _given(symbol: FunctionSymbol, call: Call, code: CodeRead, evaluator: Evaluator, name: str) -> Value:
    """What a function has for a parameter: by its annotation or its class, else by what a call gives it."""
    from jaxlint.rules.analyses.instances.local_instances import LocalInstances

    value = plain(evaluator.given_parameter(symbol.declaration, name, symbol.module))
    if not isinstance(value, UnknownValue) or call.has_star:
        return value
    given = call.given_to(symbol.declaration.positional)
    return LocalInstances.of(code, evaluator).value(given[name]) if name in given else UNKNOWN


def _returned(
    symbol: FunctionSymbol, held: Callable[[str], Value], evaluator: Evaluator, depth: int = 0
) -> _Put | None:
    """What a function puts into a static field of an instance that it returns: all of it runs in each turn."""
    inner = symbol.declaration.inner_scope
    body = tuple(evaluator.calls.body_of(symbol) or ())
    fresh = Freshness(symbol.module, inner, body, evaluator)
    for value in symbol.declaration.return_values:
        if isinstance(value, Name):
            value = bound_once(body).get(value.id, value)
        if isinstance(value, Comprehension) and value.kind == "list" and isinstance(value.element, Call):
            put = _put_by(value.element, symbol, held, fresh, evaluator, depth)
            if put is not None:
                return None if put.in_list else msgspec.structs.replace(put, in_list=True)
        put = _put_by(value, symbol, held, fresh, evaluator, depth) if isinstance(value, Call) else None
        if put is not None:
            return put
    return None


def _put_by(
    call: Call,
    symbol: FunctionSymbol,
    held: Callable[[str], Value],
    fresh: Freshness,
    evaluator: Evaluator,
    depth: int,
) -> _Put | None:
    """What a call, by which a function makes what it returns, puts into a static field."""
    from jaxlint.rules.analyses.instances.origins import given_by

    inner = symbol.declaration.inner_scope
    called = evaluator.model.resolver.resolve(call.func, symbol.module, inner)
    if isinstance(called, FunctionSymbol) and called.key != symbol.key and depth < _MAX_DEPTH:
        wrapped = evaluator.calls.transformed.of(called.declaration, called.module)
        put = None if wrapped else _returned(called, lambda _: UNKNOWN, evaluator, depth + 1)
        return put if put is None or called.module is symbol.module else msgspec.structs.replace(put, at=call.at)
    cls = evaluator.model.class_of_symbol(called) or _own_class(call.func, symbol, evaluator)
    if cls is None and isinstance(call.func, Attribute) and call.func.attr == "create":
        created = evaluator.model.resolver.resolve(call.func.value, symbol.module, inner)
        cls = evaluator.model.class_of_symbol(created)
        cls = cls if cls is not None and is_train_state(cls) else None
    puts = _updated(call, symbol, held, evaluator) if cls is None else ((cls, *put) for put in given_by(call, cls))
    for owner, field, given in puts:
        what = fresh.of(given)
        if what is not None and is_held(field, owner, what):
            return _Put(given.at, owner, field, what)
    if cls is not None:
        for field, what in fresh.of_constructor(cls):
            return _Put(call.at, cls, field, what, in_constructor=True)
    return None


def _own_class(func: Expr, symbol: FunctionSymbol, evaluator: Evaluator) -> PytreeClass | None:
    """The class that a class method calls by its first parameter: `cls(...)`."""
    method, owners = symbol.declaration, symbol.module.outline.classes
    if method.owner not in owners or not is_classmethod(method) or dotted(func) != method.positional[0]:
        return None
    return evaluator.model.class_of_symbol(ClassSymbol(symbol.module, owners[method.owner]))


def _updated(
    call: Call, symbol: FunctionSymbol, held_by: Callable[[str], Value], evaluator: Evaluator
) -> Iterator[tuple[PytreeClass, Field, Expr]]:
    """What an update of a parameter, which a function returns, gives to fields."""
    scope = symbol.declaration.inner_scope
    name = evaluator.model.resolver.library_name(call.func, symbol.module, scope)
    copied = call.positional[0] if name in REPLACE_FUNCTIONS and call.positional else None
    is_method = copied is None and isinstance(call.func, Attribute)
    if is_method and isinstance(call.func, Attribute):
        copied = call.func.value
    names = {p.name for p in symbol.declaration.parameters}
    held = plain(held_by(copied.id)) if isinstance(copied, Name) and copied.id in names else None
    if not isinstance(held, Instance):
        return
    if is_method and not (held.cls.has_framework_replace and last_name(call.func) == held.cls.framework.replace_method):
        return
    for argument in call.args:
        field = held.cls.field(argument.keyword or "")
        if field is not None:
            yield held.cls, field, argument.value


def _problem(put: _Put, confidence: Confidence | None, *, together: bool = False) -> Problem:
    way_out = "make it once, before the loop"
    kind = "static field" if put.field.role is Role.STATIC else "field"
    turns = "in each turn of the loop"
    if put.in_constructor:
        turns = "of its own in each instance, and each turn of the loop makes one"
        turns = turns if not put.by else f"of its own in each instance, and `{put.by}`, which a loop calls, makes one"
        way_out = "make it once, outside of the class"
    outcome = f"no two are equal, and every {'call' if put.by else 'turn'} compiles again"
    if together:  # a comprehension, whose instances may go into one call
        outcome = "no two are equal: to map over them together raises ValueError, and each compiles again"
    return Problem(
        at=put.at,
        message=(f"{kind} `{put.field.name}` of `{put.cls.name}` is given {put.what} {turns}: {outcome}; {way_out}"),
        reason=_REASON,
        help=way_out,
        confidence=confidence,
    )


def _problem_of_argument(argument: FreshArgument, around: tuple[Statement, ...], code: CodeRead) -> Problem:
    from jaxlint.rules.analyses.fixes.hoisting import making_once

    event, way_out = argument.event, "make it once, before the loop"
    parameter = f"`{event.parameter}`" if event.parameter is not None else "an argument"
    called = f" of `{event.function.name}`" if event.function is not None else ""
    once = around and event.parameter is not None and argument.what != "a value"
    return Problem(
        at=event.at,
        message=(
            f"{parameter}{called} is static and given {argument.what} in each turn of the loop: no two are equal, and"
            f" every turn compiles again; {way_out}"
        ),
        reason="static arguments are the key of the compiled program, and a new object is equal to no other",
        help=way_out,
        confidence=Confidence.LOW if argument.is_worth else None,
        fix=making_once(argument.expr, event.parameter or "", around[0], code) if once else None,
    )
