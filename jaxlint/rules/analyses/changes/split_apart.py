"""States that a body takes out of a module, goes on from, and drops, while it goes on with the module as it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Instance, UnknownValue, plain
from jaxlint.libraries.nnx import SPLITTING
from jaxlint.project.resolution import External
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.syntax.expressions import Call, Display, Expr, Name, last_name
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import Assign, Return, Statement, all_parts, bound_names, own_parts, parts

#: The only function of a library that takes a step: others copy, move or look.
_STEPPING = frozenset({"optax.apply_updates"})
#: What makes the state of an optimizer from parameters.
_BEGINNING = "init"
#: What gives a module another state.
_PUTTING_BACK = "update"


class Dropped(msgspec.Struct, frozen=True):
    """A state in a variable that is dropped, and where the module that it was taken from is read afterwards."""

    state: str
    module: str
    read: Expr


def states_dropped(code: CodeRead, evaluator: Evaluator) -> Iterator[Dropped]:
    """States whose variables only their own updates read, where the module is read behind the last of these."""
    for start in code.statements if "split" in code.contents.called else ():
        match start:
            case Assign(
                targets=(Display(items=(_, *states)),), value=Call(func=func, positional=(Name(id=module), *_))
            ):
                pass
            case _:
                continue
        if evaluator.model.resolver.library_name(func, code.place.module, code.scope) != SPLITTING:
            continue
        if _is_put_back(module, code) or any(module in bound_names(s) for s in _behind(start, code)):
            continue
        for state in (one.id for one in states if isinstance(one, Name) and not one.id.startswith("_")):
            steps = _steps(state, start, code, evaluator)
            read = _read_behind(module, steps[-1], code) if steps else None
            if read is None:
                continue
            held = plain(LocalInstances.of(code, evaluator).value(read))
            is_module = isinstance(held, Instance) and (held.cls.framework.is_stateful or not held.cls.bases_known)
            if is_module or isinstance(held, UnknownValue):  # the class of a library's layer is not seen
                yield Dropped(state, module, read)


def _behind(start: Statement, code: CodeRead) -> Iterator[Statement]:
    return (s for s in code.statements if s.at.lineno > start.at.lineno)


def _is_put_back(module: str, code: CodeRead) -> bool:
    """Whether the body gives a module another state: `nnx.update(module, state)`."""
    calls = (part for part in all_parts(code.body) if isinstance(part, Call) and last_name(part.func) == _PUTTING_BACK)
    return any(isinstance(a.value, Name) and a.value.id == module for call in calls for a in call.args)


def _steps(state: str, start: Assign, code: CodeRead, evaluator: Evaluator) -> Sequence[Assign]:
    """The updates of a variable, if nothing else binds it or reads it but what begins an optimizer's state."""
    others = [s for s in code.statements if s is not start and state in bound_names(s)]
    steps = [s for s in others if isinstance(s, Assign) and _goes_on(s.value, state, code, evaluator)]
    if not steps or len(steps) != len(others):
        return ()
    targets = {id(part) for s in (start, *steps) for target in s.targets for part in parts(target)}
    begun = [p for p in all_parts(code.body) if isinstance(p, Call) and last_name(p.func) == _BEGINNING]
    inside = {id(part) for expr in (*(step.value for step in steps), *begun) for part in parts(expr)}
    read = (part for part in reads(code.body, state) if id(part) not in targets)
    return steps if all(id(part) in inside for part in read) else ()


def _goes_on(value: Expr, state: str, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a call is given a variable itself, and is none of a library's function that only copies or moves."""
    if not isinstance(value, Call) or not any(isinstance(a.value, Name) and a.value.id == state for a in value.args):
        return False
    symbol = evaluator.model.resolver.resolve(value.func, code.place.module, code.scope)
    return not isinstance(symbol, External) or symbol.name in _STEPPING


def _read_behind(module: str, last: Statement, code: CodeRead) -> Expr | None:
    """Where a module is returned, or given to something, behind a statement."""
    for statement in _behind(last, code):
        for part in own_parts(statement):
            given = part.args if isinstance(part, Call) else ()
            handed = [argument.value for argument in given]
            if isinstance(statement, Return):
                whole = statement.value
                handed += whole.items if isinstance(whole, Display) else [whole] if whole is not None else []
            found = next((one for one in handed if isinstance(one, Name) and one.id == module), None)
            if found is not None:
                return found
    return None
