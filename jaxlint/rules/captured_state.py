"""JAX503 captured-state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property

import msgspec

from jaxlint.cst.changes import Proposal, Rewrite
from jaxlint.finding import Applicability, Confidence, Severity
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Transformed
from jaxlint.infer.known.values import Instance, Value, plain
from jaxlint.infer.transforms.applied import Applied
from jaxlint.libraries.transforms import TRANSFORMS, Kind
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.bodies.changed_fields import changed_fields
from jaxlint.rules.analyses.bodies.ignored_parameters import (
    LOOPS,
    IgnoredCarry,
    OtherRead,
    computed_outside,
    ignored_carries,
    of_other_parameters,
)
from jaxlint.rules.analyses.bodies.leaves_read import leaves_read
from jaxlint.rules.analyses.bodies.penalties import penalised
from jaxlint.rules.analyses.bodies.rebindings import Called, rebindings_between
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.under_trace.cached_in_trace import leaked_caches
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, Expr, Lambda, Name, dotted, first_given, last_name
from jaxlint.syntax.names_read import names_read, reads
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Body,
    For,
    FunctionDefinition,
    Return,
    While,
    all_parts,
    is_own,
    own_names,
    parts,
)

#: What binds arguments of a function, by the last part of the name.
_PARTIALS = frozenset({"partial", "Partial"})
#: What compiles, by the last part of the name.
_COMPILING = frozenset(t.name.rpartition(".")[2] for t in TRANSFORMS.values() if t.kind is Kind.JIT)
#: What differentiates, by the last part of the name.
_GRADIENTS = frozenset(t.name.rpartition(".")[2] for t in TRANSFORMS.values() if t.kind is Kind.GRAD)
_ALL_ZERO = "all gradients are zero"
_DERIVATIVE = "a derivative only sees what comes in through the parameter"


class _Inner(msgspec.Struct, frozen=True):
    """A function inside the body that a transformation is applied to, and the name that calls it."""

    applied: Applied
    function: Function
    body: Body
    #: The variable that holds the transformed function; None if it is called at once.
    handle: str | None

    @property
    def params(self) -> frozenset[str]:
        """The names of its parameters."""
        return frozenset([parameter.name for parameter in self.function.parameters])


class CapturedState(BodyRule):
    """
    ## What it does

    Finds compiled functions that read a state that is bound anew around them: between two calls, also where a
    `functools.partial` holds it; functions that are differentiated with respect to a parameter that they do not read:
    they take the same thing, or what was computed from it, from around them; and functions of loops that do not read
    their carry, but update the state with which the loop begins; and compiled functions that are the first to read a
    cached_property of a state around them, which then holds a tracer.

    ## Why is this bad?

    What a compiled function does not get as an argument is a constant in it: the values of the first call. What a
    function does not get through its parameter has no influence on its derivative: all gradients are zero.

    ## What you will see

    No error. Results of the old state; gradients of `0.0`, a loss that does not fall; of a loop only the last turn. Of
    a cached_property: `UnexpectedTracerError: Encountered an unexpected tracer.`, where it is read again.

    ## Example

    ```python
    import jax
    from flax.training.train_state import TrainState

    def gradients(state: TrainState, x):
        def loss_fn(params):
            return (state.apply_fn(state.params, x) ** 2).sum()

        return jax.grad(loss_fn)(state.params)
    ```

    ## Use instead

    ```python
    import jax
    from flax.training.train_state import TrainState

    def gradients(state: TrainState, x):
        def loss_fn(params):
            return (state.apply_fn(params, x) ** 2).sum()

        return jax.grad(loss_fn)(state.params)
    ```

    ## Frameworks

    All. Static fields and methods of a state that is captured are not looked at.

    ## Fix safety

    A function that is differentiated reads its parameter in the place of what was passed for it. The fix is unsafe:
    the gradients are others then.

    ## When not to use it

    A state that is bound anew only before the first call is not reported, nor is a function that is compiled again
    after that, nor one that reads other fields than those that the update is seen to change, or their shapes only. The
    updates of an optimizer leave whole numbers, flags and texts as they are.

    ## References

    - [JAX: just-in-time compilation](https://docs.jax.dev/en/latest/jit-compilation.html)
    - [jax #6905](https://github.com/jax-ml/jax/issues/6905), [pinet #98](https://github.com/antonioterpin/pinet/issues/98)
    """

    code = "JAX503"
    about_values = True
    name = "captured-state"
    group = "transformations"
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    calls = _GRADIENTS

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Code that compiles something, whose parts may come from another module, and loops of functions in it."""
        unit, inner = candidate.unit, [f for f in candidate.functions if f.scope]
        if unit.calls.isdisjoint(_COMPILING):
            loops = not unit.calls.isdisjoint(LOOPS)
            return any(loops or any(last_name(d) in _COMPILING for d in function.decorators) for function in inner)
        rows = candidate.module.source.lines[unit.first - 1 : unit.last]
        return bool(inner) or not unit.calls.isdisjoint(_PARTIALS) or any("lambda" in row for row in rows)

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the functions inside a body that are transformed."""
        yield from map(_of_carry, ignored_carries(code, evaluator))
        yield from map(_of_other, of_other_parameters(code, evaluator))
        written = _Written(code)
        inside = list(_inside(written, code, evaluator))
        bound = list(_bound(written, code, evaluator))
        if not inside and not bound:
            return
        classes = _classes(code, evaluator)
        for one, given in bound:
            yield from _held(one, given, classes, code, evaluator)
        for one in inside:
            if one.applied.transform.kind is Kind.JIT and not one.applied.transform.propagates:
                yield from _leaking(one, classes, code, evaluator)
                if written.may_be_called_again(one):
                    yield from _stale(one, written.helpers_of(one), classes, code, evaluator)
            elif one.applied.transform.kind is Kind.GRAD and one.applied.argnums == (0,):
                yield from _without_parameter(one, classes, code, evaluator)


def _inside(written: _Written, code: CodeRead, evaluator: Evaluator) -> Iterator[_Inner]:
    """The functions that are transformed and may read variables of the body."""
    for event in code.events:
        if isinstance(event, Transformed) and not event.applied.is_decorator:
            one = _given(event, written)
            if one is not None:
                yield one
    module, scope = code.place.module, code.function.qualname if code.function is not None else None
    if scope is None:
        functions = [
            f for f in module.outline.functions.values() if not f.scope and f.owner is None and f.name in written.called
        ]
        bodies = [(f, evaluator.calls.body_of(FunctionSymbol(module, f))) for f in functions if f.decorators]
    else:
        defined = [s for s in code.statements if isinstance(s, FunctionDefinition) and s.decorators]
        found = [(module.outline.functions.get(f"{scope}.<locals>.{s.name}"), s.body) for s in defined]
        bodies = [(f, body) for f, body in found if f is not None]
    for function, body in bodies:
        for applied in code.place.applied(function) if body is not None else ():
            if applied.is_decorator and body is not None:
                yield _Inner(applied, function, body, function.name)


class _Written:
    """What stands in a body that is looked for with each transformation in it."""

    def __init__(self, code: CodeRead) -> None:
        self._code = code

    @cached_property
    def defined(self) -> dict[str, FunctionDefinition]:
        """The functions inside, by their names."""
        return {s.name: s for s in self._code.statements if isinstance(s, FunctionDefinition)}

    def helpers_of(self, one: _Inner) -> list[FunctionDefinition]:
        """The functions beside a transformed one that it mentions, or those do: what they read, it reads."""
        found: dict[str, FunctionDefinition] = {}
        pending: list[tuple[Container[str], Body]] = [(one.params, one.body)] if len(self.defined) > 1 else []
        while pending:
            params, body = pending.pop()
            for name in sorted(self.defined.keys() & names_read(body) - found.keys() - {one.function.name}):
                if not is_own(name, params, body):
                    found[name] = self.defined[name]
                    pending.append((found[name].params, found[name].body))
        return list(found.values())

    @cached_property
    def lambdas(self) -> dict[int, Body]:
        """The lambdas that are given first to calls, by the places (by identity) of the calls."""
        given = ((call.at, first_given(call)) for call in self._code.calls)
        return {id(at): (Return(first.body.at, first.body),) for at, first in given if isinstance(first, Lambda)}

    @cached_property
    def handles(self) -> dict[int, str]:
        """The variables that are assigned calls, by the places (by identity) of what is in these."""
        found: dict[int, str] = {}
        for statement in self._code.statements:
            match statement:
                case Assign(targets=(Name(id=name),), value=Call() as call):
                    found |= {id(part.at): name for part in parts(call)}
        return found

    @cached_property
    def called(self) -> Counter[str | None]:
        """How many calls there are by the names of what is called."""
        return Counter(dotted(call.func) for call in self._code.calls)

    @cached_property
    def _has_loops(self) -> bool:
        return any(isinstance(statement, (For, While)) for statement in self._code.statements)

    def may_be_called_again(self, one: _Inner) -> bool:
        """Whether a transformed function is called in two places, or perhaps in a loop."""
        return one.handle is not None and self.called[one.handle] > (0 if self._has_loops else 1)


def _given(event: Transformed, written: _Written) -> _Inner | None:
    """The function that a call transforms, if it is one of the body."""
    function, applied = event.function, event.applied
    if function is None or event.receiver is not None or applied.bound or applied.given:
        return None
    defined = written.defined.get(function.name)
    inner = written.lambdas.get(id(applied.at), None if defined is None else defined.body)
    handle = written.handles.get(id(applied.at))
    return None if inner is None else _Inner(applied, function, inner, handle)


def _bound(written: _Written, code: CodeRead, evaluator: Evaluator) -> Iterator[tuple[_Inner, dict[str, Expr]]]:
    """The functions that are compiled with arguments which a partial holds, and these by the names of parameters."""
    for event in code.events:
        if not isinstance(event, Transformed) or event.function is None or event.module is None:
            continue
        applied, function = event.applied, event.function
        if applied.transform.kind is not Kind.JIT or applied.transform.propagates or event.receiver is not None:
            continue
        handle = written.handles.get(id(applied.at)) if applied.bound or applied.given else None
        partials = [c for c in code.calls if last_name(c.func) in _PARTIALS and written.handles.get(id(c.at)) == handle]
        if handle is None or len(partials) != 1 or partials[0].has_star:
            continue
        body = evaluator.calls.body_of(FunctionSymbol(event.module, function))
        one = _Inner(applied, function, body or (), handle)
        if body is not None and written.may_be_called_again(one):
            yield one, partials[0].given_to(("", *function.positional))


def _classes(code: CodeRead, evaluator: Evaluator) -> dict[str, PytreeClass]:
    """The variables that hold instances of pytree classes, at least once."""
    found: dict[str, PytreeClass] = {}
    for parameter, given in code.parameters.items():
        _keep(found, parameter, given)
    instances = LocalInstances.of(code, evaluator)
    for statement in code.statements:
        match statement:
            case Assign(targets=(Name(id=name),), value=value) | Annotate(target=Name(id=name), value=Call() as value):
                _keep(found, name, instances.value(value))
                if isinstance(value, Name) and value.id in found:  # `target = state`, whatever comes later
                    found.setdefault(name, found[value.id])
    return found


def _keep(found: dict[str, PytreeClass], name: str, value: Value) -> None:
    one = plain(value)
    if isinstance(one, Instance) and one.cls.is_pytree:
        found.setdefault(name, one.cls)


# -- compiled, and bound anew --------------------------------------------------------------------


def _stale(
    one: _Inner,
    helpers: Iterable[FunctionDefinition],
    classes: dict[str, PytreeClass],
    code: CodeRead,
    evaluator: Evaluator,
) -> Iterator[Problem]:
    """The states that the compiled function or a helper reads, and that are bound anew between two calls of it."""
    bodies = [(one.params, one.body), *((helper.params, helper.body) for helper in helpers)]
    for name, cls in sorted(classes.items(), key=lambda item: item[0]):
        read = [leaf for params, body in bodies for leaf in leaves_read(params, body, name, cls)]
        for place in _outdated(one, name, cls, read, code, evaluator):
            way_out = f"make `{name}` an argument of `{one.function.name}`"
            yield Problem(
                at=place,
                message=(
                    f"the compiled `{one.function.name}` takes the `{cls.name}` in `{name}` from around it, and goes on"
                    f" with the values of the first call when `{name}` is bound anew; {way_out}"
                ),
                reason="what is no argument is a constant in the compiled program",
                help=way_out,
            )
            return


def _leaking(one: _Inner, classes: dict[str, PytreeClass], code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """The states that keep what the compiled function computes of them while it is traced."""
    for name, cls in sorted(classes.items(), key=lambda item: item[0]):
        for found in leaked_caches(one.handle or "", one.params, one.body, name, cls, code.body, evaluator):
            way_out, by = f"make `{name}` an argument of `{one.function.name}`", f" by `{found.by}`" if found.by else ""
            yield Problem(
                at=found.at,
                message=(
                    f"the compiled `{one.function.name}` takes the `{cls.name}` in `{name}` from around it, and is the"
                    f" first to read its cached_property `{found.attr}`{by}: `{name}` keeps a tracer, and reading it"
                    f" again fails (UnexpectedTracerError); {way_out}"
                ),
                reason="what is computed while a function is traced is no array, and means nothing outside of it",
                help=way_out,
            )


def _held(
    one: _Inner, given: dict[str, Expr], classes: dict[str, PytreeClass], code: CodeRead, evaluator: Evaluator
) -> Iterator[Problem]:
    """The states that a partial holds for the compiled function, and that are bound anew between two calls of it."""
    for parameter, expr in given.items():
        name = expr.id if isinstance(expr, Name) else ""
        cls = classes.get(name)
        read = [] if cls is None else list(leaves_read((), one.body, parameter, cls))
        if cls is not None and next(_outdated(one, name, cls, read, code, evaluator), None) is not None:
            way_out = f"pass `{name}` where `{one.handle}` is called"
            yield Problem(
                at=expr.at,
                message=(
                    f"the compiled `{one.function.name}` is bound to the `{cls.name}` in `{name}`, and goes on with"
                    f" that when `{name}` is bound anew; {way_out}"
                ),
                reason="what a partial holds is a constant in the compiled program",
                help=way_out,
            )
            return


def _outdated(
    one: _Inner,
    name: str,
    cls: PytreeClass,
    read: list[tuple[str, object]],
    code: CodeRead,
    evaluator: Evaluator,
) -> Iterator[object]:
    """Where fields are read that get other values between two calls of the function: a place for each binding."""
    for rebinding in rebindings_between(Called(one.function.name, one.handle), name, code.body) if read else ():
        changed = changed_fields(rebinding, cls, code, evaluator)
        places = [at for field, at in read if changed is None or field in changed]
        yield from places[:1]


# -- differentiated, without its parameter ---------------------------------------------------------


def _without_parameter(
    one: _Inner, classes: dict[str, PytreeClass], code: CodeRead, evaluator: Evaluator
) -> Iterator[Problem]:
    """The problem of a parameter that is not read, where what is passed for it is taken from around the function."""
    parameter = next(iter(one.function.positional), "_")
    weighed = set(penalised(one.body, code.place.module, one.function.inner_scope, evaluator))
    read = list(reads(one.body, parameter))
    if any(id(part) not in weighed for part in read) or parameter in own_names(one.body) or parameter.startswith("_"):
        return
    for call in _gradient_calls(one, code.body):
        given = call.positional[0] if call.positional else None
        path = None if given is None else dotted(given)
        root = (path or "").partition(".")[0]
        if path is None or is_own(root, one.params, one.body):
            continue
        captured = [part for part in all_parts(one.body) if dotted(part) == path and id(part) not in weighed]
        if captured and (root in classes or not read):
            yield _of_captured(captured, one, parameter, path, classes.get(root), is_read=bool(read))
            return
        if not read and (outside := computed_outside(one.body, one.params, path, call, code.body)) is not None:
            yield _of_computed(outside, one, parameter, path)
            return


def _of_captured(
    captured: Sequence[Expr], one: _Inner, parameter: str, path: str, cls: PytreeClass | None, *, is_read: bool
) -> Problem:
    """The problem of a function that is differentiated and reads what is passed for its parameter from around it."""
    way_out, whose = f"read `{parameter}` instead of `{path}`", f" of the `{cls.name}`" if cls is not None else ""
    what, outcome = ("only weighs", "no gradient is that of the result") if is_read else ("does not read", _ALL_ZERO)
    return Problem(
        at=captured[0].at,
        message=(
            f"`{one.function.name}` {what} its parameter `{parameter}`, but takes `{path}`{whose} from around it:"
            f" {outcome}; {way_out}"
        ),
        reason=_DERIVATIVE,
        help=way_out,
        fix=Proposal(f"Read `{parameter}`", Applicability.UNSAFE, tuple(Rewrite(p.at, parameter) for p in captured)),
    )


def _of_computed(outside: Name, one: _Inner, parameter: str, path: str) -> Problem:
    """The problem of a function that is differentiated and only gives what was computed before."""
    way_out = f"compute `{outside.id}` inside of the function, from `{parameter}`"
    return Problem(
        at=outside.at,
        message=(
            f"`{one.function.name}` does not read its parameter `{parameter}`, but `{outside.id}`, which was computed"
            f" from `{path}` before: {_ALL_ZERO}; {way_out}"
        ),
        reason=_DERIVATIVE,
        help=way_out,
    )


def _of_other(found: OtherRead) -> Problem:
    """The problem of a function that is differentiated and reads what is called like its parameter of another one."""
    way_out = f"read `{found.parameter}` instead of `{found.path}`"
    fix = Proposal(f"Read `{found.parameter}`", Applicability.UNSAFE, (Rewrite(found.at, found.parameter),))
    return Problem(
        at=found.at,
        message=(
            f"`{found.function}` is differentiated with respect to its parameter `{found.parameter}`, which it does not"
            f" read: it takes `{found.path}`, and {_ALL_ZERO}; {way_out}"
        ),
        reason=_DERIVATIVE,
        help=way_out,
        fix=fix if found.is_here else None,
    )


def _of_carry(found: IgnoredCarry) -> Problem:
    """The problem of a loop whose function does not read its carry."""
    way_out = f"read `{found.parameter}` instead of `{found.variable}`"
    return Problem(
        at=found.at,
        message=(
            f"`{found.function}` does not read its carry `{found.parameter}`, but takes `{found.variable}` from around"
            f" it: each turn of `{found.loop}` begins with the initial carry, and what the turns before have made is"
            f" lost; {way_out}"
        ),
        reason="what a turn returns comes to the next one through the parameter only",
        help=way_out,
    )


def _gradient_calls(one: _Inner, body: Body) -> Iterator[Call]:
    """The calls of the differentiated function."""
    for part in all_parts(body, nested=False):
        if isinstance(part, Call):
            if part.func.at is one.applied.at or (one.handle is not None and dotted(part.func) == one.handle):
                yield part
