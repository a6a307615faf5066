"""The keys of states that a function splits while it drops the next one, and returns the state as it was."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.rules.analyses.instances.keys_drawn import is_key
from jaxlint.syntax.expressions import Attribute, Call, Display, Expr, Name, dotted, items_of
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import Assign, Return, targets_of

_SPLIT = "jax.random.split"


class NextDropped(msgspec.Struct, frozen=True):
    """The key of a parameter, and the variable with the next one, which nobody reads."""

    key: Attribute
    state: Name
    next: str


def next_dropped(code: CodeRead, evaluator: Evaluator) -> Iterator[NextDropped]:
    """The splits of the key of a parameter whose next key nobody reads, and whose other keys are drawn with.

    The function only reads fields of the parameter, and returns it, alone or beside something. What calls the next key
    `_` is left alone.
    """
    if code.function is None or "split" not in code.contents.called:
        return
    for statement in code.body:
        match statement:
            case Assign(
                targets=(Display(items=(Name(id=following), *others)),),
                value=Call(args=(given, *_), func=func),
            ) if others and is_key(key := given.value) and isinstance(state := key.value, Name):
                if following.startswith("_") or not code.function.takes(state.id):
                    continue
                if not _is_handed_back(state.id, code) or next(reads(code.body, following), None) is not None:
                    continue
                if not any(isinstance(o, Name) and next(reads(code.body, o.id), None) is not None for o in others):
                    continue
                if evaluator.model.resolver.library_name(func, code.place.module, code.scope) == _SPLIT:
                    yield NextDropped(key, state, following)


def _is_handed_back(state: str, code: CodeRead) -> bool:
    """Whether a body returns a parameter as it was: it only reads fields of it, and calls no method of it."""
    if state in code.contents.bound or code.function is None or state == code.function.self_name:
        return False
    handed: list[Expr] = []
    for statement in code.statements:
        if any(isinstance(t, Attribute) and dotted(t.value) == state for t in targets_of(statement)):
            return False
        if isinstance(statement, Return) and statement.value is not None:
            handed += [item for item in items_of(statement.value) if isinstance(item, Name) and item.id == state]
    owners = {id(part.value) for part in code.parts if isinstance(part, Attribute)}
    owners -= {id(call.func.value) for call in code.calls if isinstance(call.func, Attribute)}
    others = [name for name in reads(code.body, state) if not any(name is one for one in handed)]
    return bool(handed) and all(id(name) in owners for name in others)
