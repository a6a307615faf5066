"""JAX412 train-state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

import msgspec

from jaxlint.cst import libcst as cst
from jaxlint.cst.changes import Change, EditCall, NameArgument, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.reading import FunctionNode
from jaxlint.cst.shapes import dotted, own, returned
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CallMethod, CodeRead, Construct, Event
from jaxlint.infer.known.values import UNKNOWN, ClassObject, Instance, as_instance, is_classmethod
from jaxlint.infer.transforms.applied import Applied
from jaxlint.libraries.transforms import Kind, Returns
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.pytrees.updating import accepted_keywords, is_train_state
from jaxlint.rules.analyses.bodies.lookups import is_of_own_state
from jaxlint.rules.analyses.changes.collections_renewed import is_never_renewed, may_be_renewed
from jaxlint.rules.analyses.changes.updates import misses_gradients
from jaxlint.rules.analyses.fixes.rebinding import taking_result
from jaxlint.rules.base import EventRule, NodeRule, Problem
from jaxlint.symbols.outline import Function, Outline
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Constant, Name, last_name
from jaxlint.syntax.expressions import dotted as name_of
from jaxlint.syntax.names_read import names_read
from jaxlint.syntax.source import Source
from jaxlint.syntax.statements import ClassDefinition, FunctionDefinition, all_parts, parts

#: What `create` must be given, and what it sets by itself.
_GIVEN = ("apply_fn", "params", "tx")
_SET = ("step", "opt_state")
_REASON = "`create` and `apply_gradients` take keyword arguments only; `create` makes `step` and `opt_state` itself"


class TrainState(EventRule, NodeRule):
    """
    ## What it does

    Finds wrong calls of flax's `TrainState` and its subclasses: `create` and `apply_gradients` with positional or
    missing arguments, `create` with `step=`, `opt_state=` or names that are no fields, the constructor without
    `opt_state`, and new batch statistics that are never written back.

    ## Why is this bad?

    `create` and `apply_gradients` take keyword arguments only. `create` makes `step` and `opt_state` itself, and hands
    its other keywords to the constructor, which wants every field that has no default. These calls raise.
    `apply_fn(…, mutable=["batch_stats"])` returns new batch statistics. If nobody takes them they are lost, and
    evaluation normalises with the initial ones.

    ## What you will see

    `TypeError: TrainState.create() takes 1 positional argument but 4 were given`, `missing 1 required keyword-only
    argument: 'tx'`, `got multiple values for keyword argument 'step'`, `TrainState.__init__() missing 1 required
    positional argument: 'opt_state'`, `TrainState.apply_gradients() takes 1 positional argument but 2 were given`.
    Lost batch statistics show no error: the training loss falls, and the evaluation is off.

    ## Example

    ```python
    import jax
    import optax
    from flax.training.train_state import TrainState

    def begin(params: jax.Array) -> TrainState:
        return TrainState.create(None, params, optax.sgd(0.1))
    ```

    ## Use instead

    ```python
    import jax
    import optax
    from flax.training.train_state import TrainState

    def begin(params: jax.Array) -> TrainState:
        return TrainState.create(apply_fn=None, params=params, tx=optax.sgd(0.1))
    ```

    ## Frameworks

    flax: `flax.training.train_state.TrainState` and its subclasses. Methods that a subclass overrides are not looked
    at, nor are classes of other packages that are called the same.

    ## Fix safety

    Safe, for the call could only raise: positional arguments are named, `opt_state` is left out of `create`, `step=`
    becomes `.replace(step=…)` behind it, and the constructor becomes `create`. Unsafe: new batch statistics are handed
    to the one call of `apply_gradients`, and what that returns is assigned if nobody takes it. There is no fix for an
    argument that is missing.

    ## When not to use it

    Batch statistics are reported where the variable that holds them is never read: in the function that calls
    `apply_fn`, or in the one that differentiates it with `has_aux=True`. Name the variable `_updates` if they are not
    wanted. They are taken not to be where no gradients are applied and something else writes new ones into the state.
    A variable `_` says so, too, unless all of this is true: a training step drops them there, nothing that is seen ever
    writes new ones into the state, and the model is applied to them elsewhere without `mutable`. Statistics that are
    passed on and then forgotten are not seen.

    ## References

    - [TrainState](https://flax.readthedocs.io/en/latest/api_reference/flax.training.html#train-state)
    - [flax #1489](https://github.com/google/flax/issues/1489)
    - [flax #2419](https://github.com/google/flax/issues/2419)
    """

    code = "JAX412"
    name = "train-state"
    group = "updates"
    since = "0.1.0"
    events = (CallMethod, Construct)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at one call of `create`, `apply_gradients` or the constructor."""
        if isinstance(event, Construct):
            yield from _constructed(event)
            return
        assert isinstance(event, CallMethod)
        cls = event.receiver.cls
        if not is_train_state(cls) or not _is_flax_method(event, evaluator):
            return
        if event.name == "create":
            yield from _created(event, evaluator)
        elif event.name == "apply_gradients" and isinstance(event.receiver, Instance):
            yield from _applied(event, evaluator)

    def can_match(self, code: CodeRead) -> bool:
        """Ask for a call with `mutable`, and for a variable that nobody reads."""
        if not _names_mutable(code.place.module.source):
            return False
        inside = [s.body for s in code.statements if isinstance(s, (FunctionDefinition, ClassDefinition))]
        calls = (part for body in inside for part in all_parts(body) if isinstance(part, Call))
        outline = code.place.module.outline
        given = (c.keyword("mutable") or _applying(name_of(c.func), outline) for c in chain(code.calls, calls))
        return any(one is not None for one in given) and bool(_unread(code))

    def check_node(self, function: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:
        """Look for new batch statistics that nobody takes."""
        for name, applied in _statistics(function.body, function.code):
            event = function.event_at(applied.call)
            state = event.receiver if isinstance(event, CallMethod) else None
            state = as_instance(state or function.code.parameters.get(applied.state, UNKNOWN))
            stored = _stored(state.cls, applied) if state is not None else None
            if state is not None and stored is not None:
                yield from _lost(name, state.cls, stored, function, (), evaluator)
        for statement in function.node.body.body:
            if isinstance(statement, cst.FunctionDef):
                yield from _differentiated(statement, function, evaluator)


@lru_cache(maxsize=8)
def _names_mutable(source: Source) -> bool:
    """Whether the word stands in a module: looked for once, not for each of its functions."""
    return "mutable" in source.text


def _is_flax_method(event: CallMethod, evaluator: Evaluator) -> bool:
    """Whether flax's own method is called, whatever visible subclass the receiver is of."""
    receiver = event.receiver
    family = (receiver.cls,) if _is_by_super(event, evaluator) else event.place.family(receiver)
    if any(event.name in one.attributes_given for cls in family for one in cls.mro):
        return False
    found = [cls.method(event.name) for cls in family]
    return all(f is not None and is_stub(f[0].module) for f in found)


def _is_by_super(event: CallMethod, evaluator: Evaluator) -> bool:
    """Whether a classmethod calls that of the next class, which stays the next one in all subclasses."""
    func, owner, method = event.call.func, event.place.owner, event.place.method
    if not isinstance(func, Attribute) or not isinstance(func.value, Call) or name_of(func.value.func) != "super":
        return False
    if owner is None or method is None or not is_classmethod(method):
        return False
    return all(cls.mro[cls.mro.index(owner) :] == owner.mro for cls in evaluator.model.subclasses(owner))


def _created(event: CallMethod, evaluator: Evaluator) -> Iterator[Problem]:
    """Look at a call of `create`."""
    cls, call = event.receiver.cls, event.call
    if call.positional:
        wrong = f"`create` of `{cls.name}` takes no positional argument: the call raises TypeError"
        changes = [
            NameArgument(a.at, name, is_one_of_many=True) for a, name in zip(call.positional, _GIVEN, strict=False)
        ]
        fix = _fix("Name the arguments", *changes) if len(call.positional) <= len(_GIVEN) else None
        yield _problem(cls, call.positional[0].at, wrong, "write `create(apply_fn=..., params=..., tx=...)`", fix)
        return
    for argument in call.args:
        if argument.keyword in _SET:
            name = argument.keyword
            wrong = f"`create` of `{cls.name}` makes `{name}` itself: passing it raises TypeError"
            left_out = _fix(f"Leave `{name}` out", EditCall(call.at, without=(name,)))
            fix = left_out if name == "opt_state" else _after(call)
            yield _problem(cls, argument.at, wrong, f"set it with `.replace({name}=...)` afterwards", fix)
    yield from _unknown_fields(event)
    if call.has_star:
        return
    given = {argument.keyword for argument in call.args}
    missing = [name for name in _GIVEN if name not in given]
    if isinstance(event.receiver, ClassObject) and event.receiver.exact:
        missing += _required_fields(cls, given)
    made = event.place.owner if _is_by_super(event, evaluator) else None
    if made is not None and not evaluator.model.subclasses(made):
        cls = made
        missing += _required_fields(made, given)
    if missing:
        wrong = f"`create` of `{cls.name}` is called without {_listed(missing)}: it raises TypeError"
        yield _problem(cls, call.func.at, wrong, f"pass {_listed([f'{name}=...' for name in missing])}")


def _unknown_fields(event: CallMethod) -> Iterator[Problem]:
    """The keywords of `create` that are no fields: it hands them on to the constructor."""
    cls = event.receiver.cls
    exact = isinstance(event.receiver, ClassObject) and event.receiver.exact
    accepted = accepted_keywords(cls) if exact else None
    known = {*(accepted or ()), *cls.class_attributes}  # names without annotation are JAX110's
    for argument in event.call.args if accepted is not None else ():
        if argument.keyword is not None and argument.keyword not in known:
            wrong = f"`{cls.name}` has no field `{argument.keyword}`: passing it to `create` raises TypeError"
            yield _problem(cls, argument.at, wrong, f"declare the field, or leave `{argument.keyword}` out")


def _required_fields(cls: PytreeClass, given: set[str | None]) -> list[str]:
    """The fields of a subclass that `create` must be given, and is not."""
    if cls.unknown_decorator or cls.custom_init() is not None or not cls.bases_known:
        return []
    own = [f for f in cls.fields if f.name not in (*_GIVEN, *_SET) and f.init and not f.opaque]
    return [f.name for f in own if not f.has_default and f.name not in given]


def _applied(event: CallMethod, evaluator: Evaluator) -> Iterator[Problem]:
    """Look at a call of `apply_gradients`."""
    cls, call = event.receiver.cls, event.call
    if not misses_gradients(call) or is_of_own_state(event, (), evaluator):
        return
    what = "a positional argument" if call.positional else "no `grads`"
    at = call.positional[0].at if call.positional else call.func.at
    wrong = f"`apply_gradients` of `{cls.name}` is given {what}: the call raises TypeError"
    is_one = len(call.positional) == 1 and not call.has_star
    fix = _fix("Name the gradients", NameArgument(at, "grads")) if is_one else None
    if isinstance(call.func, Attribute):
        fix = taking_result(fix, call, call.func.value, event.place, evaluator)
    yield _problem(cls, at, wrong, "write `apply_gradients(grads=...)`", fix)


def _constructed(event: Construct) -> Iterator[Problem]:
    """Look at a call of the constructor."""
    cls, call = event.cls.cls, event.call
    if not is_train_state(cls) or call.has_star or cls.custom_init() is not None or cls.unknown_decorator:
        return
    if event.by_create or any(a.name == "opt_state" for a in event.arguments):
        return
    wrong = f"the constructor of `{cls.name}` is called without `opt_state`: it raises TypeError"
    way_out = f"use `{cls.name}.create(...)`, which makes it with `tx.init(params)`"
    yield _problem(cls, call.func.at, wrong, way_out, _with_create(call))


@proposing
def _with_create(call: Call) -> Proposal | None:
    """The fix: `create` makes the state, which counts its steps from 0."""
    step = call.keyword("step")
    if call.positional or (step is not None and not (isinstance(step, Constant) and step.value == 0)):
        return None
    changes: list[Change] = [Rewrite(call.func.at, "{0}.create", (call.func.at,))]
    if step is not None:
        changes.append(EditCall(call.at, without=("step",)))
    return _fix("Make it with `create`", *changes)


@proposing
def _after(call: Call) -> Proposal | None:
    """The fix that sets the step of the state once it is made."""
    step = call.keyword("step")
    others = [argument for argument in call.args if argument.keyword is not None and argument.keyword != "step"]
    if step is None or len(others) != len(call.args) - 1:
        return None
    given = ", ".join(f"{one.keyword}={{{number}}}" for number, one in enumerate(others, 2))
    parts = (call.func.at, step.at, *(one.value.at for one in others))
    return _fix("Set it afterwards", Rewrite(call.at, f"{{0}}({given}).replace(step={{1}})", parts))


@proposing
def _fix(title: str, *changes: Change) -> Proposal | None:
    """A fix of a call that could only raise."""
    return Proposal(title, Applicability.SAFE, changes)


def _problem(cls: PytreeClass, at: object, wrong: str, way_out: str, fix: Proposal | None = None) -> Problem:
    return Problem(
        at=at,
        message=f"{wrong}; {way_out}",
        reason=_REASON,
        help=way_out,
        fix=fix,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}",
    )


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


# -- batch statistics -----------------------------------------------------------------------------


def _unread(code: CodeRead) -> set[str]:
    """The variables that are never read, though their names do not say that they are not wanted; and `_`."""
    return {name for name in code.contents.bound - names_read(code.body) if name == "_" or not name.startswith("_")}


class _Applied(msgspec.Struct, frozen=True):
    """A call of `apply_fn(..., mutable=[...])`, or of a function that returns what such a call does."""

    call: cst.Call
    #: The state, as it is written, and the collections that are declared mutable.
    state: str
    collections: Sequence[object]


def _statistics(body: cst.CSTNode, code: CodeRead) -> Iterator[tuple[cst.Name, _Applied]]:
    """The variables that are given what `apply_fn(..., mutable=[...])` returns second, with the call."""
    for assigned in own(body, cst.Assign):
        match assigned:
            case cst.Assign(
                targets=[cst.AssignTarget(cst.Tuple([_, cst.Element(cst.Name() as name)]))], value=cst.Call() as call
            ):
                applied = _applied_by(call, code.place.module.outline)
                if applied is not None:
                    yield name, applied


def _applied_by(call: cst.Call, outline: Outline) -> _Applied | None:
    """What a call applies, itself or through a function of its module or a method of the state."""
    match call.func:
        case cst.Attribute(value=state, attr=cst.Name("apply_fn")):
            options = (arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "mutable")
            names = [text.evaluated_value for value in options for text in own(value, cst.SimpleString)]
            return _Applied(call, dotted(state), names)
    found = _applying(dotted(call.func), outline)
    if found is None or any(arg.star for arg in call.args):
        return None
    function, name, collections = found
    if isinstance(call.func, cst.Attribute):
        return _Applied(call, dotted(call.func.value), collections) if name == function.self_name else None
    positional = [arg.value for arg in call.args if arg.keyword is None]
    given = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    given |= dict(zip(function.positional, positional, strict=False))
    return _Applied(call, dotted(given[name]), collections) if name in given else None


def _applying(called: str | None, outline: Outline) -> tuple[Function, str, Sequence[object]] | None:
    """The function of a module that returns what `state.apply_fn(..., mutable=[...])` does, and its parameter `state`.

    With them come the collections that the call declares mutable. Of a method it is the only one of its name.
    """
    around, _, name = (called or "").rpartition(".")
    known = outline.functions
    named = (
        [f for f in known.values() if f.name == name and f.owner] if around else [known[name]] if name in known else []
    )
    if len(named) != 1 or named[0].decorators or len(named[0].return_values) != 1:
        return None
    match named[0].return_values[0]:
        case Call(func=Attribute(value=Name(id=state), attr="apply_fn")) as call if state in named[0].positional:
            mutable = call.keyword("mutable")
            collections = [] if mutable is None else [p.value for p in parts(mutable) if isinstance(p, Constant)]
            return (named[0], state, collections) if collections else None
    return None


def _stored(cls: PytreeClass, applied: _Applied) -> str | None:
    """The collection that the call declares mutable and the state has a field for; None if there is none."""
    names = applied.collections if is_train_state(cls) else ()
    return next((n for n in names if isinstance(n, str) and cls.field(n) is not None), None)


def _differentiated(inner: cst.FunctionDef, function: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:
    """Look at a function inside that returns new batch statistics next to its loss, and at who takes them."""
    code = function.code
    assert code.function is not None
    declared = code.place.module.outline.functions.get(f"{code.function.qualname}.<locals>.{inner.name.value}")
    if declared is None:
        return
    gradients = [a for a in code.place.applied(declared) if a.transform.kind is Kind.GRAD and a.has_aux]
    for name, applied_once in _statistics(inner.body, code):
        state = as_instance(code.parameters.get(applied_once.state, UNKNOWN))
        paths = [path for value in returned(inner.body) for path in _paths(value, name.value)]
        stored = _stored(state.cls, applied_once) if state is not None else None
        if state is None or stored is None or len(paths) != 1:
            continue
        for applied in gradients:
            for target in _targets(applied, inner.name.value, function):
                taken = _at_path(target, _path_after(applied, paths[0]))
                yield from _lost(taken, state.cls, stored, function, code.calls, evaluator)


def _paths(value: cst.BaseExpression, name: str, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Where the variable stands in a (nested) tuple."""
    match value:
        case cst.Name(value=written) if written == name:
            yield path
        case cst.Tuple(elements) | cst.List(elements):
            for index, element in enumerate(elements):
                yield from _paths(element.value, name, (*path, index))


def _path_after(applied: Applied, path: tuple[int, ...]) -> tuple[int, ...]:
    """Where what the function returns at `path` stands in the result of the differentiated function."""
    if applied.transform.returns is Returns.VALUE_AND_GRADIENT:
        return (0, *path)
    return path  # the gradient stands in place of the loss


def _targets(applied: Applied, called: str, function: FunctionNode) -> Iterator[cst.BaseExpression]:
    """What is assigned the result of the differentiated function."""
    at, names = place_of(applied.at), {called} if applied.is_decorator else set[str]()
    for assigned in own(function.body, cst.Assign):
        match assigned:
            case cst.Assign([cst.AssignTarget(target)], cst.Call(func=func) as value):
                if function.place_of(value) == at and isinstance(target, cst.Name):
                    names = {target.value}
                elif function.place_of(func) == at or dotted(func) in names:
                    yield target


def _at_path(target: cst.BaseExpression, path: tuple[int, ...]) -> cst.BaseExpression | None:
    """The part of a tuple target at `path`."""
    for index in path:
        if not isinstance(target, (cst.Tuple, cst.List)) or index >= len(target.elements):
            return None
        target = target.elements[index].value
    return target


@proposing
def _handing(name: str, collection: str, calls: Sequence[Call]) -> Proposal | None:
    """The fix that hands the new values to the one call that updates the state."""
    updates = [c for c in calls if isinstance(c.func, Attribute) and c.func.attr == "apply_gradients"]
    if len(updates) != 1 or updates[0].has_star or updates[0].keyword(collection) is not None:
        return None
    change = EditCall(updates[0].at, ((collection, f'{name}["{collection}"]'),))
    return Proposal(f"Write `{collection}` back", Applicability.UNSAFE, (change,))


def _is_forgotten(collection: str, cls: PytreeClass, code: CodeRead, is_nameless: bool, evaluator: Evaluator) -> bool:
    """Whether new statistics are lost: the outermost function around applies gradients, or nothing renews the state.

    Where others renew it and no gradients are applied, the statistics of this call are not wanted: those of a norm of
    gradients, of a validation. Those that have no name are only missed where nothing at all renews them.
    """
    module, around = code.place.module, code.place.functions[0] if code.place.functions else code.function
    body = None if around is None else evaluator.calls.body_of(FunctionSymbol(module, around))
    calls = (part for part in all_parts(body or ()) if isinstance(part, Call))
    is_training = any(last_name(call.func) == "apply_gradients" for call in calls)
    if not is_nameless:
        return is_training or not may_be_renewed(collection, cls, module, evaluator)
    return around is not None and is_training and is_never_renewed(collection, cls, around, module, evaluator)


def _lost(
    taken: cst.BaseExpression | None,
    cls: PytreeClass,
    collection: str,
    function: FunctionNode,
    calls: Sequence[Call],
    evaluator: Evaluator,
) -> Iterator[Problem]:
    """The problem of a variable with new statistics, if nobody reads it; `_` may say that they are not wanted."""
    if not isinstance(taken, cst.Name) or taken.value not in _unread(function.code):
        return
    is_nameless = taken.value == "_"
    if not _is_forgotten(collection, cls, function.code, is_nameless, evaluator):
        return
    way_out = f"hand it to `apply_gradients(grads=..., {collection}=...)`"
    yield Problem(
        at=function.place_of(taken),
        fix=None if is_nameless else _handing(taken.value, collection, calls),
        message=f"the new `{collection}` in `{taken.value}` is never written back to the `{cls.name}`; {way_out}",
        reason="`apply_fn` changes nothing: with `mutable=[...]` it returns the new values next to the output",
        help=way_out,
        confidence=Confidence.MEDIUM,
    )
