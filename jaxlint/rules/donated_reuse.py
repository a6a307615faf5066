"""JAX509 donated-reuse."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from jaxlint.cst.changes import Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Cross
from jaxlint.infer.known.values import Container, Instance, Value, as_instance, plain
from jaxlint.pytrees.framework import Role
from jaxlint.rules.analyses.bodies.deleted_reads import DeletedReads, is_read_from_list
from jaxlint.rules.analyses.bodies.read_after import ReadAfter
from jaxlint.rules.analyses.changes.donated_argument import is_updated, updates
from jaxlint.rules.analyses.fixes.donated_results import binding_result
from jaxlint.rules.analyses.fixes.options import is_written_in, not_donating
from jaxlint.rules.analyses.instances.given_away import read_by_callers
from jaxlint.rules.analyses.instances.origins import argument_at, put_in
from jaxlint.rules.analyses.instances.shared_leaves import (
    SharedLeaves,
    holds_arrays,
    is_of_arrays,
    shared_leaves,
    shared_leaves_made,
)
from jaxlint.rules.analyses.instances.sharing import Sharing, sharing_at
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.syntax.expressions import (
    Call,
    Expr,
    Name,
    dotted,
    root,
)
from jaxlint.syntax.names_read import names_in
from jaxlint.syntax.spelling import with_article
from jaxlint.syntax.statements import Body, Do, expressions, walk

#: What a finding is about, whether the class of what is donated is known or not.
_SUBJECT = "donated arrays"
#: Where the functions stand that make arrays.
_MAKING_ARRAYS = ("jax.numpy.", "jax.random.", "jax.nn.initializers.")
#: How many instances in each other are looked into.
_MAX_DEPTH = 3


class DonatedReuse(BodyRule):
    """
    ## What it does

    Finds states and arrays that are used again after they were donated: passed for a parameter that `donate_argnums`,
    `donate_argnames` or equinox's `donate=` names, and not assigned again; also in the next turn of a loop, under
    another name, from a list to which they were appended, twice in one call, and where a function of the module donates
    what it is given; and so are the arrays of which the state was made.

    ## Why is this bad?

    A donated buffer is used for the results: when the call is done, the arrays that were passed are deleted. The name
    must be bound to what the function returns, `state = step(state)`.

    ## What you will see

    `RuntimeError: Array has been deleted with shape=float32[4].` Where it is passed to a compiled function that has
    been called before, as `*` and `+` are: `ValueError: INVALID_ARGUMENT: … Buffer has been deleted or donated.` For
    the same array twice in one call: `INVALID_ARGUMENT: Attempt to use a buffer that was previously donated in the same
    call to Execute()`.

    ## Example

    ```python
    import functools

    import jax
    from flax.training.train_state import TrainState

    @functools.partial(jax.jit, donate_argnums=0)
    def train_step(state: TrainState, grads) -> TrainState:
        return state.apply_gradients(grads=grads)

    def train(state: TrainState, grads):
        new_state = train_step(state, grads)
        return new_state, state.params
    ```

    ## Use instead

    ```python
    import functools

    import jax
    from flax.training.train_state import TrainState

    @functools.partial(jax.jit, donate_argnums=0)
    def train_step(state: TrainState, grads) -> TrainState:
        return state.apply_gradients(grads=grads)

    def train(state: TrainState, grads):
        state = train_step(state, grads)
        return state, state.params
    ```

    ## Frameworks

    All: the arrays are deleted, whatever holds them. Static fields and shapes can still be read. Donation works on
    CPU, too (jax 0.10.2; it was ignored there before).

    ## Fix safety

    The variable is bound to the update that comes back, if nothing is made of what it was but to pass it on, or to
    return it at the end. Where old and new are both of use, the option that donates the argument goes, if the
    transformation stands in the same file. Both are unsafe: one gives other values, the other needs more memory.
    Of two leaves that are the same arrays, the second gets a copy, which is unsafe as well.

    ## When not to use it

    A buffer that fits none of the results is not deleted: only arguments are reported that the function certainly
    returns an update of. Inside of another transformation nothing is donated, and nothing is reported.

    ## References

    - [Buffer donation](https://docs.jax.dev/en/latest/buffer_donation.html)
    - [jax #7144](https://github.com/jax-ml/jax/issues/7144), [jax #9675](https://github.com/jax-ml/jax/issues/9675)
    """

    code = "JAX509"
    name = "donated-reuse"
    group = "transformations"
    about_values = True
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    raises_at_once = True

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what becomes of the arguments that a body donates."""
        if any(code.place.applied(function) for function in (*code.place.functions, code.function) if function):
            return
        reported: set[object] = set()
        for event in code.events:
            if not isinstance(event, Cross) or not event.donated or event.function is None:
                continue
            given = argument_at(event.at, code.body)
            if given is None or not is_updated(event, event.function, evaluator):
                continue
            call, expr = given
            path = dotted(expr)
            if isinstance(expr, Call) and call.at not in reported:
                shared = shared_leaves_made(expr, code, evaluator)
                if shared is not None:
                    reported.add(call.at)
                    made = f"{dotted(expr.func) or '...'}(...)"
                    problem = _shared_problem(shared, made, call, dotted(call.func) or event.function.name)
                    yield replace(problem, fix=_copying(shared, code, evaluator))
            if path is None or _is_bound_inside(path.partition(".")[0], expr, code.body):
                continue
            shared = shared_leaves(path, call, code, evaluator)
            if call.at in reported:
                continue  # it fails, whatever else is given twice
            if shared is not None:
                reported.add(call.at)
                problem = _shared_problem(shared, path, call, dotted(call.func) or event.function.name)
                yield replace(problem, fix=_copying(shared, code, evaluator))
                continue
            sharing = sharing_at(path, expr.at, code.body, lambda made: _put_in(made, code, evaluator))
            called = dotted(call.func) or event.function.name
            twice = _twice(path, expr, call, sharing, event.value, evaluator)
            again, name = (twice, path) if twice is not None else _read_after(sharing, expr.at, code, event, evaluator)
            if again is not None and again.at not in reported:
                reported.add(again.at)
                if twice is not None:
                    reported.add(call.at)
                    yield _problem_of_call(twice, path, event, called)
                elif name != path:
                    yield _problem_of_alias(again, name, path, event, called)
                else:
                    yield _problem(again, path, event, called, _binding(path, call, event, code))
            held = _part_read(sharing, expr.at, code, event, evaluator) if again is None else None
            if held is not None and held[0].at not in reported:
                reported.add(held[0].at)
                yield _problem_of_part(*held, path, event, called)
            source = _source_read(sharing, expr.at, code, event, evaluator) if again is None and held is None else None
            if source is not None and source[0].at not in reported:
                reported.add(source[0].at)
                yield _problem_of_source(*source, path, event, called)
            for name, put in sharing.lists.items() if again is None else ():
                if put.at not in reported and is_read_from_list(name, expr.at, code.body, event.value, evaluator):
                    reported.add(put.at)
                    yield _problem_of_list(name, put, path, event, called)
            for read in read_by_callers(path, call, event.value, code, evaluator) if again is None else ():
                if read.at not in reported:
                    reported.add(read.at)
                    yield _problem_of_caller(read, path, code, event, called)


def _is_bound_inside(name: str, expr: Expr, body: Body) -> bool:
    """Whether a variable is one of the comprehension or lambda in which an expression stands."""
    named = root(expr)
    return not any(read is named for s in walk(body) for whole in expressions(s) for read in names_in(whole, name))


def _read_after(
    sharing: Sharing, at: object, code: CodeRead, event: Cross, evaluator: Evaluator
) -> tuple[Expr | None, str]:
    """The first read of what was donated after the call whose argument stands at a place, and the name it has there."""
    for name in sorted(sharing.same):
        found = ReadAfter(name, DeletedReads(name, event.value, evaluator).find).of(at, code.body)
        if found is not None:
            return found, name
    return None, ""


def _part_read(
    sharing: Sharing, at: object, code: CodeRead, event: Cross, evaluator: Evaluator
) -> tuple[Expr, str, str] | None:
    """The first read of a variable that holds a leaf of what was donated, with its name and that of the leaf."""
    instance = as_instance(event.value)
    if instance is None:
        return None
    for name, attr in sorted(sharing.parts.items()):
        if not _holds_arrays(attr, instance, evaluator):
            continue
        value = plain(evaluator.attribute_of(instance, attr))
        found = ReadAfter(name, DeletedReads(name, value, evaluator).find).of(at, code.body)
        if found is not None:
            return found, name, attr
    return None


def _holds_arrays(attr: str, holder: Instance, evaluator: Evaluator, depth: int = 0) -> bool:
    """Whether an attribute is a leaf with arrays: one, parameters, or an instance that has such a leaf."""
    field = holder.cls.field(attr)
    if field is None or field.role is not Role.LEAF or depth > _MAX_DEPTH:
        return False
    held = plain(evaluator.attribute_of(holder, attr))
    if (inner := as_instance(held)) is not None:
        return any(_holds_arrays(one.name, inner, evaluator, depth + 1) for one in inner.cls.fields)
    return is_of_arrays(field, holder.cls, evaluator) or (isinstance(held, Container) and "params" in attr)


def _put_in(made: Call, code: CodeRead, evaluator: Evaluator) -> dict[str, str]:
    """The variables with arrays of jax that a call puts into leaves of what it makes, with the names of these."""
    return {
        name.id: field.name
        for name, field in put_in(made, code, evaluator)
        if field.role is Role.LEAF and holds_arrays(name, code, evaluator)
    }


def _source_read(
    sharing: Sharing, at: object, code: CodeRead, event: Cross, evaluator: Evaluator
) -> tuple[Expr, str, str] | None:
    """The first read of a variable that was put into what is donated, with its name and that of the leaf."""
    instance = as_instance(event.value)
    if instance is None:
        return None
    for name, attr in sorted(sharing.put_in.items()):
        value = plain(evaluator.attribute_of(instance, attr))
        found = ReadAfter(name, DeletedReads(name, value, evaluator).find).of(at, code.body)
        if found is not None:
            return found, name, attr
    return None


def _twice(path: str, expr: Expr, call: Call, sharing: Sharing, value: Value, evaluator: Evaluator) -> Expr | None:
    """Another argument of the call that is the same thing, or a copy with some of its arrays."""
    for argument in call.args:
        name = dotted(argument.value)
        if argument.value is expr or name is None:
            continue
        copied = sharing.copies.get(name)
        if name in sharing.same or (copied is not None and _shares_arrays(copied, value, evaluator)):
            return argument.value
    return None


def _shares_arrays(copied: Call, value: Value, evaluator: Evaluator) -> bool:
    """Whether an updated copy of an instance still holds arrays of it."""
    instance = as_instance(value)
    if instance is None or not (instance.cls.has_framework_replace or copied.positional):
        return False
    given = {argument.keyword for argument in copied.args}
    left = (f for f in instance.cls.fields if f.role is Role.LEAF and f.name not in given)
    return any(
        is_of_arrays(field, instance.cls, evaluator)
        or (
            field.annotation is not None and isinstance(plain(evaluator.promises.field(field, instance.cls)), Container)
        )
        for field in left
    )


@proposing
def _copying(shared: SharedLeaves, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix: the second of two leaves that are the same arrays gets a copy of them, where the instance is made."""
    module, resolver = code.place.module, evaluator.model.resolver
    mapping, copying = (spelled(name, module, resolver) for name in ("jax.tree.map", "jax.numpy.copy"))
    if shared.module is not module or not isinstance(shared.value, Name) or mapping is None or copying is None:
        return None
    change = Rewrite(shared.value.at, f"{mapping[0]}({copying[0]}, {{0}})", (shared.value.at,))
    imports = tuple(dict.fromkeys((*mapping[1], *copying[1])))
    return Proposal(f"Give `{shared.other}` a copy", Applicability.UNSAFE, (change,), imports)


def _shared_problem(shared: SharedLeaves, path: str, call: Call, name: str) -> Problem:
    way_out = f"give `{shared.other}` a copy: `jax.tree.map(jnp.copy, ...)`"
    return Problem(
        at=call.at,
        message=(
            f"`{path}`, {with_article(shared.cls.name)}, is donated to `{name}`, and its `{shared.one}` and"
            f" `{shared.other}` are the same arrays: the call fails (INVALID_ARGUMENT: donate the same buffer twice);"
            f" {way_out}"
        ),
        reason="a buffer can be given away once",
        help=way_out,
    )


def _problem_of_list(container: str, put: Expr, path: str, event: Cross, name: str) -> Problem:
    way_out = f"append a copy: `jax.tree.map(jnp.copy, {path})`"
    return Problem(
        at=put.at,
        message=(
            f"`{container}` keeps `{path}`{_of_class(event)}, which is donated to `{name}`: the arrays in the list are"
            f" deleted when it is read; {way_out}"
        ),
        reason="the buffers of a donated argument are used for the results, and its arrays are deleted",
        help=f"{way_out}, or do not donate `{path}`",
        subject=_SUBJECT,
        fix=_keeping(event),
    )


def _problem_of_caller(read: Expr, path: str, code: CodeRead, event: Cross, name: str) -> Problem:
    helper, what = "this function" if code.function is None else f"`{code.function.name}`", dotted(read) or "this"
    way_out = f"use what {helper} returns, or do not donate `{path}`"
    return Problem(
        at=read.at,
        message=(
            f"`{what}`{_of_class(event)} is used again after {helper} has donated it to `{name}`: its arrays are"
            f" deleted; {way_out}"
        ),
        reason="the buffers of a donated argument are used for the results, and its arrays are deleted",
        help=way_out,
        subject=_SUBJECT,
        fix=_keeping(event),
    )


def _of_class(event: Cross) -> str:
    """The class of what is donated, in brackets."""
    instance = as_instance(event.value)
    return f" ({with_article(instance.cls.name)})" if instance is not None else ""


def _problem(again: Expr, path: str, event: Cross, name: str, fix: Proposal | None) -> Problem:
    what = f"`{dotted(again) or f'{path}[...]'}` is used again after `{path}`{_of_class(event)} was donated to `{name}`"
    return _deleted(again, what, f"bind `{path}` to what `{name}` returns, or do not donate it", fix)


def _problem_of_alias(again: Expr, alias: str, path: str, event: Cross, name: str) -> Problem:
    what = (
        f"`{dotted(again) or f'{alias}[...]'}` is the same as `{path}` and used again after `{path}`{_of_class(event)}"
        f" was donated to `{name}`"
    )
    way_out = f"make one of the two a copy, `jax.tree.map(jnp.copy, ...)`, or do not donate `{path}`"
    return _deleted(again, what, way_out, _keeping(event))


def _problem_of_part(again: Expr, holder: str, attr: str, path: str, event: Cross, name: str) -> Problem:
    what = (
        f"`{dotted(again) or f'{holder}[...]'}` is `{attr}` of `{path}` and used again after `{path}`{_of_class(event)}"
        f" was donated to `{name}`"
    )
    way_out = f"keep a copy, `jax.tree.map(jnp.copy, {path}.{attr})`, or do not donate `{path}`"
    return _deleted(again, what, way_out, _keeping(event))


def _problem_of_source(again: Expr, source: str, attr: str, path: str, event: Cross, name: str) -> Problem:
    what = (
        f"`{dotted(again) or f'{source}[...]'}` was put into `{path}` as `{attr}` and is used again after"
        f" `{path}`{_of_class(event)} was donated to `{name}`"
    )
    way_out = f"read `{path}.{attr}`, put a copy in, `jax.tree.map(jnp.copy, {source})`, or do not donate `{path}`"
    return _deleted(again, what, way_out, _keeping(event))


def _deleted(again: Expr, what: str, way_out: str, fix: Proposal | None) -> Problem:
    return Problem(
        at=again.at,
        message=f"{what}: its arrays are deleted; {way_out}",
        reason="the buffers of a donated argument are used for the results, and its arrays are deleted",
        help=way_out,
        subject=_SUBJECT,
        fix=fix,
    )


def _problem_of_call(again: Expr, path: str, event: Cross, name: str) -> Problem:
    read, way_out = dotted(again), "pass a copy, or do not donate it"
    as_what = "" if read == path else f" as `{read}`, which shares its arrays"
    return Problem(
        at=again.at,
        message=(
            f"`{path}`{_of_class(event)} is donated to `{name}` and passed a second time{as_what}: the call fails"
            f" (INVALID_ARGUMENT); {way_out}"
        ),
        reason="the buffers of a donated argument are used for the results, and its arrays are deleted",
        help=way_out,
        subject=_SUBJECT,
        fix=_keeping(event),
    )


@proposing
def _binding(path: str, call: Call, event: Cross, code: CodeRead) -> Proposal | None:
    """The fix: the old value is bound to the new one if nothing else is done with it; else it is not donated."""
    parameter, function = event.parameter, event.function
    if parameter is None or function is None:
        return None
    fix = binding_result(path, call, function, code, lambda expr: updates(expr, parameter))
    if fix is None and any(isinstance(s, Do) and s.value is call for s in code.statements):
        return None  # to let it run would hide that the update is lost
    return _keeping(event) if fix is None else replace(fix, otherwise=_keeping(event))


@proposing
def _keeping(event: Cross) -> Proposal | None:
    """The fix: the argument is not donated any more."""
    if event.parameter is None or event.function is None:
        return None
    if not all(is_written_in(applied, event.module, event.place.module) for applied in event.applied):
        return None
    return not_donating(event.parameter, event.function, event.applied)
