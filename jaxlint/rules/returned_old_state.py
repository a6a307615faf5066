"""JAX407 returned-old-state."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import msgspec
from msgspec import structs

from jaxlint.cst.changes import Proposal, Rename, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence, Severity
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Replace, Update
from jaxlint.infer.known.values import Container, Instance, plain
from jaxlint.libraries.functions import only_looks
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.bodies.sequences import is_read_later, sequences
from jaxlint.rules.analyses.changes.carried_alone import carried_alone
from jaxlint.rules.analyses.changes.dropped_results import (
    gradients_problem,
    optimizer_problem,
    problem_of_dropped,
    problem_of_forgotten,
    step_problem,
)
from jaxlint.rules.analyses.changes.named_successors import forgotten_successors, may_forget
from jaxlint.rules.analyses.changes.optimizer_states import lost_optimizer_states
from jaxlint.rules.analyses.changes.part_kept import is_bound_in, keeps_only_part
from jaxlint.rules.analyses.changes.raw_gradients import raw_gradients
from jaxlint.rules.analyses.changes.returning import returned_variables
from jaxlint.rules.analyses.changes.split_apart import states_dropped
from jaxlint.rules.analyses.changes.tried_steps import is_only_looked_at, is_tried
from jaxlint.rules.analyses.changes.unused_copies import goes_on_with_original, measures
from jaxlint.rules.analyses.changes.unused_steps import unused_steps
from jaxlint.rules.analyses.changes.updates import is_copy
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.syntax.expressions import Attribute, Call, Display, Expr, Name, dotted
from jaxlint.syntax.names_read import names_inside, names_read
from jaxlint.syntax.statements import (
    Annotate,
    Assert,
    Assign,
    Body,
    Do,
    For,
    Outer,
    Return,
    Statement,
    While,
    blocks,
    bound_once,
    expressions,
    target_names,
    walk,
)


class _Made(msgspec.Struct, frozen=True):
    """A variable that is given an update of what another one holds."""

    name: str
    original: str
    at: object
    cls: PytreeClass
    #: The call that makes it, and the update that it is, if it is seen to be one.
    call: Call
    update: Update | None = None


#: Through how many updates that go on from each other the first is sought.
_LONGEST_ROW = 6


class ReturnedOldState(BodyRule):
    """
    ## What it does

    Finds functions that return the original of a state that they updated: nobody reads the variable with the copy, or
    nothing but the next update of it does, and they return the original, or another state of the class that is older,
    or go on with the original in a loop or an attribute; and functions that update a state but drop the optimizer state
    that `optax`'s `update` returned for it, or go on with a module of flax.nnx whose parameters they took out of it by
    `nnx.split`, trained, and dropped; and functions that let `optax` make updates of gradients and then add the
    gradients themselves to the parameters, or never use the parameters that `apply_updates` returns; and functions that
    forget what a call makes of a parameter and return that: `out, new_state = model(x, state)`, `return out, state`.

    ## Why is this bad?

    An update makes a copy and leaves the original as it is. What the function returns is what it was given: nothing
    ever changes, and no error says so.

    ## What you will see

    No error. The state stays as it was: `step: 0` after a hundred steps, a loss that does not fall.

    ## Example

    ```python
    from flax.training.train_state import TrainState

    def train_step(state: TrainState, grads, loss):
        new_state = state.apply_gradients(grads=grads)
        return state, loss
    ```

    ## Use instead

    ```python
    from flax.training.train_state import TrainState

    def train_step(state: TrainState, grads, loss):
        new_state = state.apply_gradients(grads=grads)
        return new_state, loss
    ```

    ## Frameworks

    All: `.replace`, `_replace`, `apply_gradients`, `dataclasses.replace`, `jdc.replace`, `eqx.tree_at`, and functions
    of yours that are annotated to return another instance of the class that they are given.

    ## Fix safety

    The copy is returned in the place of the original, where it certainly was made; in a loop or a branch it is assigned
    to the variable of the original. The fix is unsafe: callers get another state than before.

    ## When not to use it

    A variable whose name begins with an underscore says that the copy is not wanted, and is not reported. Nor are
    copies in functions that measure: that ask for the time, for compiled programs, or for NaNs. Nor is what a function
    of yours makes only to be tried: of zeros or ones, of the first item (`break`), or for an `assert`. Nor is a copy of
    which a part is read, but for a result of the very field that goes on from what it was (the mean of a sum that a
    training step adds to), and where a loop gives the function the state that it has returned, so that all of them are
    the first one. Of optimizers those are reported that keep moments or counts, such as `optax.adam`, where the module,
    or a caller that passes it, shows how the optimizer is made; there an underscore says nothing, unless the old state
    of the optimizer is given to the next instance as well, or all callers only look at what is returned. Where nothing
    shows how it is made, its new state has to have a name without an underscore that nothing reads.

    ## References

    - [flax #2467](https://github.com/google/flax/issues/2467)
    """

    code = "JAX407"
    about_values = True
    name = "returned-old-state"
    group = "updates"
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    calls = frozenset({"apply_updates"})

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Functions that return a parameter and name a successor of it."""
        lines = candidate.module.source.lines
        return any(may_forget(f, lines[f.body_rows[0] - 1 : f.body_rows[1]]) for f in candidate.functions)

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look for copies that are made in a function, and for what it returns."""
        function = code.function
        returned = [s.value for s in code.statements if isinstance(s, Return)]
        if function is None:
            return
        dropped = list(states_dropped(code, evaluator))
        yield from map(problem_of_dropped, dropped if dropped and not measures(code, evaluator) else ())
        yield from map(gradients_problem, raw_gradients(code, evaluator))
        yield from map(step_problem, unused_steps(code, evaluator))
        if returned:
            lost = list(lost_optimizer_states(code, evaluator))
            if lost and not is_only_looked_at(function, code.place.module, evaluator):
                yield from map(optimizer_problem, lost)
        reader = _Reader(
            code, evaluator, frozenset(read.id for value in returned for read in returned_variables(value))
        )
        copies = {id(s): made for s in code.statements if (made := reader.made(s)) is not None}
        carried = list(reader.carried()) if returned else []
        forgotten = list(forgotten_successors(code)) if returned else []
        if not (copies or carried or reader.wholes or forgotten) or measures(code, evaluator):
            return
        seen = [made.at for made in (*copies.values(), *carried)]
        yield from (problem_of_forgotten(f, function.name) for f in forgotten if all(f.at is not at for at in seen))
        for made in carried:
            if not made.name.startswith("_"):
                last = tuple(s for s in code.statements if isinstance(s, Return))
                fix = _returning(made, last) if len(last) == 1 else None
                use = "is read by nothing but its next update"
                yield _problem(made, function.name, f"return `{made.name}`", fix, use)
        yield from _of_tuples(reader, code, function.name)
        outer = {name for s in walk(code.body) if isinstance(s, Outer) for name in s.names}
        used = _used_names(code.body, reader, code, evaluator)
        yield from _of_last_updates(reader, code, function.name, used)
        once = bound_once(code.body)
        turning = {id(s) for loop in walk(code.body) if isinstance(loop, (For, While)) for s in walk(loop.body)}
        bases = {dotted(made.update.base) for made in copies.values() if made.update and made.update.base}
        updated_again = bases - {made.original for made in copies.values()}
        for statement, following, behind in sequences(code.body, ()):
            made = copies.get(id(statement))
            if made is None or made.name in outer or made.name.startswith("_"):
                continue
            if made.name in updated_again:
                continue  # the last of a row is reported
            later = code.body if id(statement) in turning else following
            is_used = made.name in used
            if is_used and later is following and made.name not in once:
                # another branch may read a variable of the name
                is_used = made.name in _used_names(later, reader, code, evaluator)
            repeated = later is not following
            if is_used and is_bound_in(made.original, behind):
                continue
            if is_used and not _keeps_part(made, code, following, evaluator, is_repeated=repeated):
                continue
            if is_bound_in(made.original, following):
                continue
            if not _is_direct(made) and is_tried(statement, made.call, made.name, made.original, code, evaluator):
                continue
            if any(isinstance(s, Return) and any(_handed_back(s.value, made.original)) for s in following):
                use = "is only asked for a result" if is_used else reader.use(made.name, later)
                if any(s is statement for s in code.body):
                    way_out = f"return `{made.name}`"
                    yield _problem(made, function.name, way_out, _returning(made, following), use)
                else:
                    way_out = f"assign it to `{made.original}`"
                    yield _problem(made, function.name, way_out, _rebinding(made), use)
            elif made.update is not None and made.name not in reader.read:
                older = reader.older(made, following)
                if older is not None:
                    yield _problem_of_older(made, function.name, older, _returning(made, following, older))
                elif goes_on_with_original(made.update, made.original, code):
                    yield _problem_of_unused(made)


class _Reader:
    """Tells which statements keep an update in a variable of its own."""

    def __init__(self, code: CodeRead, evaluator: Evaluator, returned: frozenset[str]) -> None:
        self._code = code
        self._updates = {id(e.call): e for e in code.events if isinstance(e, Update)}
        self._instances = LocalInstances.of(code, evaluator)
        #: The variables that the function hands back.
        self._returned = returned

    def made(self, statement: Statement) -> _Made | None:
        """The update of what is returned that a statement keeps."""
        match statement:
            case Assign(targets=(target,), value=Call() as call) | Annotate(target=target, value=Call() as call):
                pass
            case _:
                return None
        update = self._updates.get(id(call))
        if update is not None:
            original = None if update.base is None else dotted(update.base)
            receiver = plain(update.receiver)
            if isinstance(target, Name) and original not in (None, target.id) and isinstance(receiver, Instance):
                if receiver.cls.is_pytree and is_copy(update):
                    return _Made(target.id, self._first(original or ""), target.at, receiver.cls, call, update)
            return None
        return self._stepped(target, call)

    def _first(self, copied: str) -> str:
        """What is handed back as it was, if a variable that is updated holds an update of that: the first of a row."""
        first, bound = copied, bound_once(self._code.body)
        for _ in range(_LONGEST_ROW):
            if first in self._returned:
                return first
            update = self._updates.get(id(bound[first])) if first in bound else None
            base = None if update is None or update.base is None or not is_copy(update) else dotted(update.base)
            if base is None:
                break
            first = base
        return copied

    def _stepped(self, target: Expr, call: Call) -> _Made | None:
        """What a function returns that is given an instance, and returns another one of its class."""
        if not isinstance(target, (Name, Display)) or self._returned.isdisjoint(map(dotted, call.positional)):
            return None
        given = ((part, self._instances.instance(part)) for part in call.positional)
        part, held = next(((part, held) for part, held in given if held is not None), (None, None))
        if held is None or not isinstance(part, Name) or part.id not in self._returned:
            return None
        name = part.id
        result = self._instances.value(call)
        if isinstance(result, Container) and result.kind == "tuple" and result.items and isinstance(target, Display):
            if len(result.items) != len(target.items):
                return None
            target, result = target.items[0], plain(result.items[0])
        if not isinstance(target, Name) or not isinstance(result, Instance) or not result.cls.is_pytree:
            return None
        if name == target.id or held.cls is not result.cls:
            return None
        return _Made(target.id, name, target.at, result.cls, call)

    def stepped_on(self, statement: Statement) -> frozenset[str]:
        """The variable that a statement gives another instance of the class of what it holds, made of that."""
        match statement:
            case Assign(targets=(Name(id=name) as target,), value=Call() as call):
                if any(isinstance(part, Name) and part.id == name for part in (_start(call), *call.positional[:1])):
                    held, made = self._instances.instance(target), self._instances.instance(call)
                    if held is not None and made is not None and held.cls is made.cls:
                        return frozenset({name})
        return frozenset()

    def use(self, name: str, following: Body) -> str:
        """What becomes of a variable, if code makes nothing else of it."""
        if name not in self.read or name not in names_read(following):
            return "is never used"
        is_stepped = any(name in self.stepped_on(statement) for statement in walk(following))
        return "is read by nothing but its next update" if is_stepped else "is only checked or printed"

    @cached_property
    def read(self) -> frozenset[str]:
        """The variables that the function reads at all."""
        return names_read(self._code.body)

    @cached_property
    def wholes(self) -> dict[str, str]:
        """The parameters that are handed back and stay what they are, by the variables that they are unpacked to."""
        handed_back = self._code.parameters.keys() & self._returned - self._code.contents.bound
        return {
            name: statement.value.id
            for statement in (self._code.statements if handed_back else ())
            if isinstance(statement, Assign) and isinstance(statement.value, Name) and statement.value.id in handed_back
            for target in statement.targets
            if isinstance(target, Display)
            for name in target_names(target)
        }

    def rebound(self, statement: Statement) -> _Made | None:
        """The update of a part of what is handed back as a whole, in the variable of that part."""
        made = self.again(statement)
        whole = None if made is None else self.wholes.get(made.name)
        return None if made is None or whole is None else structs.replace(made, original=whole)

    def again(self, statement: Statement) -> _Made | None:
        """The update of what a variable holds that the variable itself is given."""
        match statement:
            case Assign(targets=(Name(id=name) as target,), value=Call() as call):
                update = self._updates.get(id(call))
                if update is None or update.base is None or dotted(update.base) != name or not is_copy(update):
                    return None
                receiver = plain(update.receiver)
                if isinstance(receiver, Instance) and receiver.cls.is_pytree:
                    return _Made(name, name, target.at, receiver.cls, call, update)
        return None

    def carried(self) -> Iterator[_Made]:
        """The last updates of variables that begin as what is returned, and that nothing but such updates reads."""
        for name, original, steps in carried_alone(self._returned, self._code):
            held = self._instances.instance(Name(None, original))
            if held is not None and all(self._goes_on(s.value, name, held.cls) for s in steps):
                last = steps[-1]
                if isinstance(last.value, Call):
                    update = self._updates.get(id(last.value))
                    yield _Made(name, original, last.targets[0].at, held.cls, last.value, update)

    def _goes_on(self, value: Expr, name: str, cls: PytreeClass) -> bool:
        """Whether a call makes another instance of a class of what a variable holds."""
        update = self._updates.get(id(value))
        if update is not None:
            return update.base is not None and dotted(update.base) == name and is_copy(update)
        given = value.positional if isinstance(value, Call) else ()
        result = self._instances.value(value)
        return bool(given) and dotted(given[0]) == name and isinstance(result, Instance) and result.cls is cls

    def older(self, made: _Made, following: tuple[Statement, ...]) -> str | None:
        """Another state of the class of the copy that is handed back next, as it was before the copy was made."""
        after = next((n for n, s in enumerate(following) if isinstance(s, Return)), None)
        if after is None or any(any(blocks(s)) for s in following[:after]):
            return None
        returned = following[after]
        for read in returned_variables(returned.value) if isinstance(returned, Return) else ():
            held = self._instances.instance(read)
            if held is not None and held.cls is made.cls and not is_bound_in(read.id, following[:after]):
                return read.id
        return None


def _of_tuples(reader: _Reader, code: CodeRead, function: str) -> Iterator[Problem]:
    """The updates of a part of a tuple which nothing reads, where the tuple is returned as it was."""
    for statement, following, _ in sequences(code.body, ()) if reader.wholes else ():
        made = reader.rebound(statement)
        if made is None or not any(s is statement for s in code.body) or made.name in names_read(following):
            continue
        if any(isinstance(s, Return) and any(_handed_back(s.value, made.original)) for s in following):
            what = f"is never used: `{function}` returns `{made.original}`, of which it was a part before"
            yield _problem_of(made, what, f"return a tuple with `{made.name}`", None)


def _of_last_updates(reader: _Reader, code: CodeRead, function: str, used: set[str]) -> Iterator[Problem]:
    """The last updates of variables that nothing reads any more, where another state of the class is returned."""
    for index, statement in enumerate(code.body):
        made, following = reader.again(statement), code.body[index + 1 :]
        if made is None or made.name.startswith("_") or made.name not in used or made.name in names_read(following):
            continue
        older = reader.older(made, following)
        if older not in (None, made.name) and not is_read_later(made.name, code.body):
            what = f"is never used after this: `{function}` returns `{older}`"
            yield _problem_of(made, what, f"return `{made.name}`, or update `{older}`", None)


def _start(call: Call) -> Expr:
    """What a chain of methods is called on: `x` of `x.moved(y).replace(...)`."""
    first: Expr = call
    while isinstance(first, Call) and isinstance(first.func, Attribute):
        first = first.func.value
    return first


def _is_direct(made: _Made) -> bool:
    """Whether an update is written out, and no function of the user's makes it."""
    return made.update is not None and not (isinstance(made.update, Replace) and made.update.by is not None)


def _keeps_part(
    made: _Made, code: CodeRead, following: tuple[Statement, ...], evaluator: Evaluator, *, is_repeated: bool
) -> bool:
    """Whether nothing but a result is taken of the copy."""
    update = made.update
    return update is not None and keeps_only_part(
        made.name, made.original, update, code, following, evaluator, is_repeated=is_repeated
    )


def _used_names(body: Body, reader: _Reader, code: CodeRead, evaluator: Evaluator) -> set[str]:
    """The variables of which something else is made; to check or to print one is no use."""
    used: set[str] = set()
    for statement in walk(body):
        if any(blocks(statement)):
            used.update(*map(names_inside, expressions(statement)))
        elif not _only_looks(statement, code, evaluator):
            used |= names_read((statement,)) - reader.stepped_on(statement)
    return used & names_read(body)


def _only_looks(statement: Statement, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a statement does nothing but check or print something."""
    if not isinstance(statement, Do) or not isinstance(statement.value, Call):
        return isinstance(statement, Assert)
    name = evaluator.model.resolver.library_name(statement.value.func, code.place.module, code.scope)
    return only_looks(name)


def _handed_back(value: Expr | None, name: str) -> Iterator[Name]:
    """Where a variable stands in what is returned."""
    return (read for read in returned_variables(value) if read.id == name)


@proposing
def _returning(made: _Made, following: tuple[Statement, ...], older: str | None = None) -> Proposal | None:
    """The fix: the copy is returned in the place of the original, unless its variable gets something else."""
    if is_bound_in(made.name, following):
        return None
    last = [s for s in following if isinstance(s, Return)][: 1 if older else None]
    returned = [read for s in last for read in _handed_back(s.value, older or made.original)]
    changes = tuple(Rename(read.at, made.name) for read in returned)
    return Proposal(f"Return `{made.name}`", Applicability.UNSAFE, changes)


@proposing
def _rebinding(made: _Made) -> Proposal | None:
    """The fix in a loop or a branch: the copy takes the place of the original there."""
    return Proposal(f"Assign it to `{made.original}`", Applicability.UNSAFE, (Rewrite(made.at, made.original),))


def _problem_of_older(made: _Made, function: str, older: str, fix: Proposal | None) -> Problem:
    what = f"is never used: `{function}` returns `{older}`, as it was before"
    reason = "an update makes a copy; what is not handed on changes nothing"
    return _problem_of(made, what, f"return `{made.name}`", fix, reason)


def _problem_of_unused(made: _Made) -> Problem:
    what = f"is never used: `{made.original}` stays as it was"
    return _problem_of(made, what, f"assign it to `{made.original}`", _rebinding(made))


def _problem(made: _Made, function: str, way_out: str, fix: Proposal | None, use: str) -> Problem:
    return _problem_of(made, f"{use}: `{function}` returns the original `{made.original}`", way_out, fix)


def _problem_of(
    made: _Made,
    what: str,
    way_out: str,
    fix: Proposal | None,
    reason: str = "an update makes a copy; the original stays as it was",
) -> Problem:
    return Problem(
        at=made.at,
        message=f"`{made.name}` holds the updated `{made.cls.name}` and {what}, and the update is lost; {way_out}",
        reason=reason,
        help=way_out,
        fix=fix,
    )
