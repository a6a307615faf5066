"""The keys of states that loops draw with in each turn, while the next key that they are split into is dropped."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.rules.analyses.changes.missed_by_callers import may_change
from jaxlint.rules.analyses.changes.only_run import reads_clock
from jaxlint.rules.analyses.instances.callers_in_loops import Caller, callers_in_loops
from jaxlint.rules.analyses.instances.keys_drawn import KEY
from jaxlint.rules.analyses.instances.passed import given_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Display, Name, dotted, last_name
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import Assign, all_parts, assigned_names

_SPLIT = "jax.random.split"


class DrawnEachTurn(msgspec.Struct, frozen=True):
    """The key of a state, the call that splits it, the variable with the next key, and who gives the same state."""

    key: Attribute
    call: Call
    next: str
    caller: str


def drawn_each_turn(code: CodeRead, evaluator: Evaluator) -> Iterator[DrawnEachTurn]:
    """The splits of the key of a parameter whose next key nobody reads, where a loop gives one and the same state.

    What mixes a number into the key is left alone, and so is what calls the next key `_`.
    """
    function, contents = code.function, code.contents
    if (
        function is None
        or function.owner is not None
        or not {"split"} <= contents.called
        or "fold_in" in contents.called
    ):
        return
    for statement in code.body:
        match statement:
            case Assign(
                targets=(Display(items=(Name(id=following), _, *_)),),
                value=Call(args=(given, *_), func=func) as call,
            ) if isinstance(given.value, Attribute) and isinstance(given.value.value, Name):
                key, state = given.value, given.value.value.id
                if not KEY.search(key.attr) or following.startswith("_") or not function.takes(state):
                    continue
                if state in contents.bound or next(reads(code.body, following), None) is not None:
                    continue
                if evaluator.model.resolver.library_name(func, code.place.module, code.scope) != _SPLIT:
                    continue
                caller = _repeating(function, state, code, evaluator)
                if caller is not None:
                    yield DrawnEachTurn(key, call, following, caller.scope.partition(".<locals>")[0])


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
