"""JAX408 lost-first-update."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from jaxlint.cst.changes import Change, InsertLine, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Beside, CodeRead, Update, rests_on_annotation
from jaxlint.infer.known.values import Instance
from jaxlint.libraries.updates import BY_GRADIENTS
from jaxlint.rules.analyses.bodies.touched import Variables
from jaxlint.rules.analyses.changes.bound_updates import (
    BoundUpdate,
    bound_beside,
    bound_or_returned,
    bound_update,
    copying_function,
    may_change,
)
from jaxlint.rules.analyses.changes.looped_updates import adds_up, sets_something_else
from jaxlint.rules.analyses.changes.made_of import made_of
from jaxlint.rules.analyses.changes.unused_copies import measures
from jaxlint.rules.analyses.changes.updates import array_copy, fields_set, goes_on_from, index_updated, is_copy
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Call,
    Constant,
    Expr,
    dotted,
    is_everything,
    same,
)
from jaxlint.syntax.names_read import names_in, names_read
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    Body,
    ClassDefinition,
    Delete,
    For,
    FunctionDefinition,
    Jump,
    Statement,
    Try,
    assigned_names,
    blocks,
    bound_by,
    expressions,
    own_parts,
    parts,
    walk,
)


class LostFirstUpdate(BodyRule):
    """
    ## What it does

    Finds two updates that start from the same original, of which the first is never used: its variable is given the
    second one (or what arithmetic or a map over the leaves makes of the original), or is never read at all; also an
    update in a loop that starts from the original in each turn, and sets something else or goes on from it each time.

    ## Why is this bad?

    Updates do not add up unless each starts from the result of the one before. `x = state.x.at[0].set(a)` followed by
    `x = state.x.at[1].set(b)` holds the old `x[0]`: the first update is lost.

    ## What you will see

    No error. The values of the first update are missing: `friction [0. 5.]` instead of `[1. 5.]`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Model:
        friction: jax.Array

    def randomize(model: Model) -> Model:
        friction = model.friction.at[0].set(1.0)
        friction = model.friction.at[1].set(5.0)
        return model.replace(friction=friction)
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Model:
        friction: jax.Array

    def randomize(model: Model) -> Model:
        friction = model.friction.at[0].set(1.0)
        friction = friction.at[1].set(5.0)
        return model.replace(friction=friction)
    ```

    ## Frameworks

    All: `.replace`, `_replace`, `tree_replace` and `apply_gradients` of a known class, `dataclasses.replace`,
    `jdc.replace`, `copy.replace`, `eqx.tree_at`, functions and methods of yours that do nothing but return such a copy,
    and the `x.at[…]` methods of jax arrays. The second one may be `jax.tree.map`, `optax.apply_updates` or arithmetic.

    ## Fix safety

    The later update starts from what was updated before. The fix is unsafe: code that ran without the first update runs
    with it. In a loop each turn starts from what the turn before has made, and the first one from the original; there
    is no fix where other lines of the loop compute with the original.

    ## When not to use it

    In a loop nothing is reported if all turns set the same, and where steps are tried or timed: a copy that the loop
    itself reads is left alone. What only goes on from the original has medium confidence. Two updates must stand in
    one block, with nothing in between that reads the first or changes the original. Nothing is reported if the second
    one sets all that the first one sets. A variable named `_first` is meant to be unused.

    ## References

    - [mujoco_playground #183](https://github.com/google-deepmind/mujoco_playground/issues/183)
    """

    code = "JAX408"
    name = "lost-first-update"
    group = "updates"
    about_values = True
    severity = Severity.WARNING
    since = "0.1.0"

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look for pairs of updates in the blocks of one body."""
        updates = {id(e.at): e for e in code.events if isinstance(e, Update) and dotted(e.base or _NOTHING) is not None}
        bindings = [bound_update(s, updates) for s in code.statements] if updates else []
        is_beside = any(isinstance(e, Beside) for e in code.events)
        if not is_beside and not any(one is not None and one.name is not None for one in bindings):
            return
        in_loop = code.function is not None and any(isinstance(s, For) for s in code.statements)
        variables = Variables(code.body)
        outer = variables.read_elsewhere(code.function)
        yield from _in_loops(code, evaluator, updates, outer, variables) if in_loop else ()
        for block, guards in _blocks(code.body, ()):
            made = [bound_update(statement, updates) for statement in block]
            last = {key: index for index, one in enumerate(made) if one is not None for key in one.keys}
            for index, first in enumerate(made):
                if first is None or first.name is None or first.name in outer:
                    continue
                pair = _Pair(first, code, evaluator, block, made, guards, updates, variables, last)
                if first.name == first.root:
                    second = pair.going_back(index)
                    if second is not None:
                        yield _problem(first, second)
                    continue
                second = pair.second(index) or pair.product(index)
                if second is not None:
                    yield _problem(first, second)
                else:
                    yield from pair.put_back(index)


_NOTHING = Constant(None, None, "NoneType")
#: So many statements are looked at for the second update of a pair.
_MOST_BETWEEN = 200


def _blocks(body: Body, guards: tuple[Body, ...]) -> Iterator[tuple[Body, tuple[Body, ...]]]:
    """The blocks of a body, those inside functions left out, each with what may run if it fails halfway."""
    yield body, guards
    for statement in body:
        if isinstance(statement, (FunctionDefinition, ClassDefinition)):
            continue
        for inner in blocks(statement):
            failing = isinstance(statement, Try) and inner is statement.body
            rest = tuple(b for b in blocks(statement) if b is not inner) if failing else ()
            yield from _blocks(inner, (*guards, *rest))


def _in_loops(
    code: CodeRead, evaluator: Evaluator, updates: dict[int, Update], outer: frozenset[str], variables: Variables
) -> Iterator[Problem]:
    """Look for updates that start from the same original in each turn, and set something else or go on from it."""
    beside = {id(e.at): e.update for e in code.events if isinstance(e, Beside)}
    is_measured = measures(code, evaluator)
    for loop in code.statements:
        if not isinstance(loop, For) or any(isinstance(s, Jump) for s in walk(loop.body)):
            continue
        bound = assigned_names((loop,))
        for statement in loop.body:
            made = bound_update(statement, updates) or bound_beside(statement, beside)
            if made is None or made.name is None or made.root in bound or made.name in outer:
                continue
            pair = _Pair(made, code, evaluator, loop.body, (), (), updates, variables, {})
            others = tuple(s for s in loop.body if s is not statement)
            if not is_copy(made.update) or any(map(pair.changes_original, others)):
                continue
            is_lost = sets_something_else(made.update, bound)
            if not is_lost and (is_measured or not adds_up(made.update, bound, evaluator)):
                continue
            is_read = made.name in variables.read and made.name not in names_read((loop,))
            if is_read and made.name not in variables.captured:
                goes_astray = not is_lost and made.root in names_read(others)  # what is computed there adds up, too
                problem, fix = _problem(made, made), None if goes_astray else _from_turn_to_turn(made, loop, code)
                confidence = problem.confidence if is_lost else Confidence.MEDIUM
                yield msgspec.structs.replace(problem, confidence=confidence, fix=fix)


@proposing
def _from_turn_to_turn(made: BoundUpdate, loop: For, code: CodeRead) -> Proposal | None:
    """The fix: each turn starts from what the last one has made, and the first one from the original.

    So does what the update is given that is computed from the original.
    """
    name, base = made.name, made.update.base
    if name is None or base is None:
        return None
    before = (s for s in code.statements if place_of(s.at).row < place_of(loop.at).row)
    given = [s.value for s in before if isinstance(s, Assign) and name in map(dotted, s.targets)]
    read = [part for part in parts(made.update.call) if part is base or dotted(part) == made.base]
    changes: tuple[Change, ...] = tuple([Rewrite(part.at, name) for part in read])
    if not given or dotted(given[-1]) != made.base:
        changes = (InsertLine(loop.iterable.at, f"{name} = {made.base}"), *changes)
    return Proposal(f"Start from `{name}`", Applicability.UNSAFE, changes)


class _Pair(msgspec.Struct, frozen=True):
    """Looks for the second update of a pair."""

    first: BoundUpdate
    code: CodeRead
    evaluator: Evaluator
    block: Body
    made: Sequence[BoundUpdate | None]
    guards: tuple[Body, ...]
    updates: dict[int, Update]
    variables: Variables
    #: Where the last update of each base, and for each name, stands in the block.
    last: dict[object, int]

    def second(self, index: int) -> BoundUpdate | None:
        """The update after the one at `index` that starts from the same original again, though that is never used."""
        name = self.first.name
        assert name is not None
        if not is_copy(self.first.update):
            return None
        is_unused = self._is_unused()
        for position in self._after(index, ("base", self.first.base) if is_unused else ("name", name)):
            statement, made = self.block[position], self.made[position]
            if made is not None and (is_unused or made.name == name) and self._starts_again(made):
                if made.name == name and (self.code.function is not None or self._is_next(index, position)):
                    return made if self._is_overwritten(statement) else None
                if made.name != name:
                    return made
            if self._ends(statement):
                return None
        return None

    def _after(self, index: int, key: object) -> range:
        """Where the statements stand that are looked at after the one at `index`, up to the last one with a key."""
        return range(index + 1, 1 + min(self.last.get(key, -1), index + _MOST_BETWEEN))

    def product(self, index: int) -> BoundUpdate | None:
        """The statement after the one at `index` that makes others of all values of the same original, as an update.

        It takes the place of the first update, or of the original, or is returned.
        """
        first, replaced = self.first, {self.first.name}
        if self._is_unused():
            replaced |= {first.base, None}
        elif self.variables.bindings[first.name or ""] == 1:
            return None
        if self.code.function is None or not is_copy(first.update):
            return None
        for statement in self.block[index + 1 : index + _MOST_BETWEEN]:
            name, value = bound_or_returned(statement)
            if name in replaced and value is not None:
                base = made_of(value, first.base, self.code, self.evaluator)
                if base is not None:
                    made = BoundUpdate(msgspec.structs.replace(first.update, base=base), first.base, name)
                    return made if name != first.name or self._is_overwritten(statement) else None
            if self._ends(statement):
                return None
        return None

    def going_back(self, index: int) -> BoundUpdate | None:
        """The update after the one at `index` that starts from what the variable was made of before: `y = f(x)`.

        `y = y.replace(a=1)`, `y = x.replace(b=2)`
        """
        name = self.first.name or ""
        if self.first.base != name or not is_copy(self.first.update):
            return None
        made_of: set[str] = set()
        for statement in self.block[:index]:
            bound, value = bound_or_returned(statement)
            if bound == name and value is not None:
                made_of = {path for part in parts(value) if (path := dotted(part)) is not None}
        for position in self._after(index, ("name", name)):
            statement, made = self.block[position], self.made[position]
            if made is not None and made.name == name and made.base in made_of - {name} and is_copy(made.update):
                is_lost = not self._covers(made.update, self.first.update) and self._is_overwritten(statement)
                return made if is_lost and self.code.function is not None else None
            if self._ends(statement):
                return None
        return None

    def put_back(self, index: int) -> Iterator[Problem]:
        """Look whether the update after the one at `index` puts an update of what a field held before into it."""
        first = self.first
        if self.code.function is None or first.name in self.variables.captured:
            return
        for position in self._after(index, ("name", first.name)):
            statement, made = self.block[position], self.made[position]
            if made is not None and made.base == made.name == first.name and not made.is_array:
                own = [n for e in expressions(statement)[-1:] for n in names_in(e, made.base)]
                for field in (fields_set(made.update, (), self.evaluator) or ()) if len(own) == 1 else ():
                    again = self._of_field(field, made.update, first.base)
                    before = self._of_field(field, first.update, first.base)
                    if again is not None and before is not None and self._is_dropped(before, again):
                        yield _stale(again, made, field)
            if self._ends(statement):
                return

    def _is_next(self, index: int, position: int) -> bool:
        """Whether nothing stands between two statements of a block.

        Definitions and other statements of a module in which nothing happens are not read: its text tells.
        """
        first, second = self.block[index].at.end_lineno, self.block[position].at.lineno
        between = self.code.place.module.source.lines[first : second - 1]
        return position == index + 1 and all(not line.strip() or line.lstrip().startswith("#") for line in between)

    def _starts_again(self, made: BoundUpdate) -> bool:
        """Whether an update starts from the same original, and does not set all that the first one sets."""
        first = self.first
        return (
            made.base == first.base and made.is_array == first.is_array and not self._covers(made.update, first.update)
        )

    def _covers(self, second: Update, first: Update) -> bool:
        """Whether the second update sets all that the first one sets, or may do so."""
        if not (is_copy(first) and is_copy(second)) or same(second.call, first.call):
            return True
        if second.function.startswith("at."):
            index, before = index_updated(second), index_updated(first)
            return second.function == "at.set" and (same(index, before) or is_everything(index))
        done, earlier = (fields_set(one, by, self.evaluator) for one, by in ((second, ()), (first, BY_GRADIENTS)))
        if done is None or earlier is None:
            return True
        if copying_function(second) is None or copying_function(second) is not copying_function(first):
            if not earlier.isdisjoint(goes_on_from(second)):
                return False
        if any(self._drops(name, second, first) for name in done & earlier):
            return False
        return all(path in done or any(path.startswith(f"{whole}.") for whole in done) for path in earlier)

    def _drops(self, field: str, second: Update, first: Update) -> bool:
        """Whether both put a copy into a field of what it held, and the second one drops what the first one set."""
        again, before = (self._of_field(field, one, self.first.base) for one in (second, first))
        return again is not None and before is not None and self._is_dropped(before, again)

    def _is_dropped(self, before: Update, again: Update) -> bool:
        """Whether the second one of two updates of the same thing does not set all that the first one sets."""
        return again.function.startswith("at.") == before.function.startswith("at.") and not self._covers(again, before)

    def _of_field(self, field: str, update: Update, original: str) -> Update | None:
        """The update of what a field of the original holds that an update puts into that field.

        `y = x.replace(field=x.field.replace(...))`
        """
        given = update.call.keyword(field)
        inner = self.updates.get(id(given.at)) if isinstance(given, Call) else None
        if inner is None or inner.base is None:
            return None
        return inner if dotted(inner.base) == f"{original}.{field}" else None

    def _is_overwritten(self, statement: Statement) -> bool:
        """Whether the second assignment, or whatever runs at any time, does without the first value."""
        name = self.first.name or ""
        if any(next(names_in(e, name), None) is not None for e in expressions(statement)[-1:]):
            return False
        if any(name in names_read(guard) for guard in self.guards):
            return False
        return name not in self.variables.captured

    def _is_unused(self) -> bool:
        """Whether the first variable is never read at all, though its name does not say so."""
        name, update = self.first.name or "", self.first.update
        if name.startswith("_") or self.code.function is None:
            return False
        if any(given is update.base for given in update.call.positional) and copying_function(update) is not None:
            return False  # a call that may be there to compile the function
        return self.variables.bindings[name] == 1 and name not in self.variables.read

    def _ends(self, statement: Statement) -> bool:
        """Whether the first value may be used in a statement, or the original may change in it."""
        touched = self.variables.touched(statement)
        if touched.jumps or self.first.name in touched.names or self.first.root in touched.changed:
            return True
        return any(may_change(call, self.first) for call in touched.calls if id(call.at) not in self.updates)

    def changes_original(self, statement: Statement) -> bool:
        """Whether a statement may change what the first update starts from."""
        root = self.first.root
        targets = (statement.target,) if isinstance(statement, (Augment, Delete)) else bound_by(statement)
        if root in assigned_names((statement,)) or any(next(names_in(t, root), None) is not None for t in targets):
            return True
        calls = [part for part in own_parts(statement) if isinstance(part, Call)]
        return any(may_change(call, self.first) for call in calls if id(call.at) not in self.updates)


def _stale(again: Update, made: BoundUpdate, field: str) -> Problem:
    """What there is to say of a field that gets an update of what it held before the last one."""
    assert again.base is not None
    receiver = made.update.receiver
    of = f" of the `{receiver.cls.name}` in `{made.name}`" if isinstance(receiver, Instance) else f" of `{made.name}`"
    way_out = f"start from `{made.name}.{field}` instead of `{dotted(again.base)}`"
    return Problem(
        at=again.base.at,
        message=f"`{field}`{of} was updated before, and that update is lost: this starts from the original; {way_out}",
        reason="an update is a copy of the original with changes; a second copy of the original has only its own",
        help=way_out,
        declared=rests_on_annotation(again),
        fix=_starting_from(f"{made.name}.{field}", again.base),
    )


@proposing
def _starting_from(name: str, base: Expr) -> Proposal | None:
    """The fix: the update starts from what was updated before."""
    return Proposal(f"Start from `{name}`", Applicability.UNSAFE, (Rewrite(base.at, name),))


def _problem(first: BoundUpdate, second: BoundUpdate) -> Problem:
    base, name, receiver = second.base, first.name, second.update.receiver
    original = f"the `{receiver.cls.name}` in `{base}`" if isinstance(receiver, Instance) else f"`{base}`"
    way_out = f"start from `{name}` instead of `{base}`"
    if second is first:
        way_out = f"assign `{base}` to `{name}` before the loop, and start from that"
        what = f"`{name}` starts from {original} in each turn of the loop: all updates but the last one are lost"
    elif second.name == name:
        what = f"`{name}` starts from {original} again: the update that was assigned to it before is lost"
    else:
        what = f"this starts from {original} again, and the update in `{name}` is never used: it is lost"
    assert second.update.base is not None
    arrays = [array_copy(m.update) for m in (first, second) if m.is_array]
    return Problem(
        at=second.update.base.at,
        message=f"{what}; {way_out}",
        reason="an update is a copy of the original with changes; a second copy of the original has only its own",
        help=way_out,
        confidence=Confidence.MEDIUM if Confidence.MEDIUM in arrays else None,
        declared=any(rests_on_annotation(made.update) for made in (first, second)),
        fix=None if second is first or name is None else _starting_from(name, second.update.base),
    )
