"""The keys of states that loops draw with in each turn, while nobody makes the next key, or it is dropped."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Construct, Replace
from jaxlint.libraries.sampling import SAMPLERS
from jaxlint.rules.analyses.changes.missed_by_callers import may_change
from jaxlint.rules.analyses.changes.only_run import reads_clock
from jaxlint.rules.analyses.instances.callers_in_loops import Caller, callers_in_loops
from jaxlint.rules.analyses.instances.keys_drawn import KEY, given_key, is_key
from jaxlint.rules.analyses.instances.passed import given_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Display, Name, dotted, is_number, last_name
from jaxlint.syntax.names_read import names_inside, reads
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    Do,
    For,
    all_parts,
    assigned_names,
    bound_names,
    own_parts,
    target_names,
    walk,
)

_SPLIT = "jax.random.split"


class DrawnEachTurn(msgspec.Struct, frozen=True):
    """The key of a state, the call that splits it or draws with it, and who gives the same state in each turn."""

    key: Attribute
    call: Call
    caller: str
    #: The variable with the next key, which is dropped; None where the function makes none.
    next: str | None = None


def drawn_each_turn(code: CodeRead, evaluator: Evaluator) -> Iterator[DrawnEachTurn]:
    """The splits of the key of a parameter whose next key nobody reads, where a loop gives one and the same state.

    And the draws with such a key, where the loop goes on from turn to turn with something else. What mixes a number
    into the key is left alone, and so is what calls the next key `_`.
    """
    function, contents = code.function, code.contents
    if function is None or function.owner is not None or "fold_in" in contents.called:
        return
    if not SAMPLERS.isdisjoint(contents.called):
        yield from _drawn_directly(function, code, evaluator)
    for statement in code.body if "split" in contents.called else ():
        match statement:
            case Assign(
                targets=(Display(items=(Name(id=following), _, *_)),),
                value=Call(args=(given, *_), func=func) as call,
            ) if is_key(key := given.value) and isinstance(key.value, Name) and not following.startswith("_"):
                state = key.value.id
                if not function.takes(state):
                    continue
                if state in contents.bound or next(reads(code.body, following), None) is not None:
                    continue
                if evaluator.model.resolver.library_name(func, code.place.module, code.scope) != _SPLIT:
                    continue
                caller = _repeating(function, state, code, evaluator)
                if caller is not None:
                    yield DrawnEachTurn(key, call, caller.scope.partition(".<locals>")[0], following)


def _drawn_directly(function: Function, code: CodeRead, evaluator: Evaluator) -> Iterator[DrawnEachTurn]:
    """The first draw with the key of a parameter itself, where the function makes no other state.

    Each turn of a loop may be meant to have the same numbers, to compare what else it is given. It is not where the
    turns follow each other.
    """
    if any(isinstance(event, (Replace, Construct)) for event in code.events):
        return
    for part in (part for statement in code.body for part in own_parts(statement)):
        if not isinstance(part, Call):
            continue
        key = given_key(part, code.place.module, code.scope, evaluator)
        state = dotted(key.value) if is_key(key) else None
        if not is_key(key) or state is None or not function.takes(state) or state in code.contents.bound:
            continue
        caller = _repeating(function, state, code, evaluator)
        if caller is not None and _goes_on(caller):
            yield DrawnEachTurn(key, part, caller.scope.partition(".<locals>")[0])
            return


def _goes_on(caller: Caller) -> bool:
    """Whether each turn of a loop gives a call what the turn before has made, or all give it the same and keep it."""
    statements = [*walk(caller.loop.body, nested=False)]
    loops = [s for s in (caller.loop, *statements) if isinstance(s, For)]
    given = {name for argument in caller.call.args for name in names_inside(argument.value)}
    if any(not given.isdisjoint(target_names(loop.target)) for loop in loops):
        return False
    bound = [s for s in statements if not given.isdisjoint(bound_names(s))]
    if not bound:
        return not any(isinstance(s, Do) and s.value is caller.call for s in statements)
    row = place_of(caller.call.at).row
    return all(isinstance(s, (Assign, Augment)) and s.at.end_lineno >= row and not is_number(s.value) for s in bound)


def _repeating(function: Function, state: str, code: CodeRead, evaluator: Evaluator) -> Caller | None:
    """The caller whose loop gives a function one and the same state at each of its turns, and no other key.

    A test wants that, perhaps, and so does who measures time.
    """
    module = code.place.module
    for home in (module, *evaluator.model.importers(module)):
        for caller in callers_in_loops(function, home, module, evaluator):
            arguments = given_by(caller.call, function)
            given = arguments.pop(state, None)
            bound = assigned_names((caller.loop,))
            if not isinstance(given, Name) or given.id in bound or last_name(caller.call.func) != function.name:
                continue
            if any(KEY.search((dotted(one) or "").rpartition(".")[2]) for one in arguments.values()):
                continue
            name = caller.scope.partition(".<locals>")[0].rpartition(".")[2]
            is_timed = reads_clock(all_parts(caller.body), caller.module, caller.scope, evaluator)
            is_tried = name.startswith("test") or is_timed
            if not is_tried and not may_change(given.id, caller, evaluator):
                return caller
    return None
