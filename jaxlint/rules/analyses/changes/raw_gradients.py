"""Gradients that are added to parameters as they are, where an optimizer has made updates of them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.libraries.updates import APPLYING_UPDATES
from jaxlint.rules.analyses.changes.purposes import applies_updates
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Display, Name
from jaxlint.syntax.names_read import names_inside
from jaxlint.syntax.statements import Assign, assigned_names


class RawGradients(msgspec.Struct, frozen=True):
    """The gradients that are given to `apply_updates`, and the variable with the updates that were made of them."""

    given: Name
    updates: str


def raw_gradients(code: CodeRead, evaluator: Evaluator) -> Iterator[RawGradients]:
    """`updates, state = tx.update(grads, ...)` and then `apply_updates(params, grads)`, with no other step."""
    if "update" not in code.contents.called:
        return
    applying = [call for call in code.calls if applies_updates(call) and len(call.positional) == 2]
    for statement in code.statements if applying else ():
        match statement:
            case Assign(
                targets=(Display(items=(Name(id=updates), _)),),
                value=Call(func=Attribute(attr="update"), positional=(Name(id=gradients), _, *_)),
            ) if updates not in ("_", gradients):
                pass
            case _:
                continue
        if any(updates in names_inside(call.positional[1]) for call in applying):
            continue
        begin = place_of(statement.at)
        for call in applying:
            given, end = call.positional[1], place_of(call.at)
            if not isinstance(given, Name) or given.id != gradients or not begin < end:
                continue
            between = tuple(s for s in code.statements if begin < place_of(s.at) < end)
            if gradients not in assigned_names(between) and _is_library(call, code, evaluator):
                yield RawGradients(given, updates)


def _is_library(call: Call, code: CodeRead, evaluator: Evaluator) -> bool:
    name = evaluator.model.resolver.library_name(call.func, code.place.module, code.scope)
    return name in APPLYING_UPDATES
