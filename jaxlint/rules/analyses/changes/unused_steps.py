"""Parameters that `apply_updates` returns in a variable that nothing reads: the step of the optimizer is lost."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.libraries.updates import APPLYING_UPDATES
from jaxlint.rules.analyses.changes.purposes import applies_updates
from jaxlint.rules.analyses.changes.unused_copies import measures
from jaxlint.syntax.expressions import Call, Name, dotted
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import Assign, For, Outer, Return, While, walk


class UnusedStep(msgspec.Struct, frozen=True):
    """The variable that nothing reads, and the parameters that it was to take the place of."""

    at: object
    name: str
    parameters: str


def unused_steps(code: CodeRead, evaluator: Evaluator) -> Iterator[UnusedStep]:
    """`params = optax.apply_updates(state.params, updates)`, where the function goes on without `params`.

    It returns something else, or goes on with its loop. An underscore before the name says that this is meant.
    """
    calls = [call for call in code.calls if applies_updates(call) and len(call.positional) == 2]
    if not calls or code.function is None:
        return
    turning = {id(s) for loop in code.statements if isinstance(loop, (For, While)) for s in walk(loop.body)}
    hands_back = any(isinstance(s, Return) and s.value is not None for s in code.statements)
    outer = {name for s in walk(code.body) if isinstance(s, Outer) for name in s.names}
    for statement in code.statements:
        match statement:
            case Assign(targets=(Name(id=name) as target,), value=Call() as call) if any(call is one for one in calls):
                parameters = dotted(call.positional[0])
            case _:
                continue
        if parameters is None or name.startswith("_") or name in outer or not (hands_back or id(statement) in turning):
            continue
        if next(reads(code.body, name), None) is None and _is_library(call, code, evaluator):
            if measures(code, evaluator):
                return
            yield UnusedStep(target.at, name, parameters)


def _is_library(call: Call, code: CodeRead, evaluator: Evaluator) -> bool:
    name = evaluator.model.resolver.library_name(call.func, code.place.module, code.scope)
    return name in APPLYING_UPDATES
