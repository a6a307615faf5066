"""Counters that the function which counts puts back to a number as soon as they get somewhere: they take few values."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import FieldEvent
from jaxlint.libraries.updates import COPYING_NAMES
from jaxlint.rules.analyses.bodies.around import outermost_body
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, Name, last_name
from jaxlint.syntax.statements import Assign, Body, If, Statement, own_parts, parts, walk


def is_put_back(event: FieldEvent, field: str, evaluator: Evaluator) -> bool:
    """Whether an `if` of the function asks where the counter is, and sets it to a number that is written out.

    ```python
    if state.gathered + 1 < state.every:
        return state.replace(gathered=state.gathered + 1)
    return state.replace(gathered=0)
    ```

    Each of its values is compiled once and met again. What Python's `if` asks for in a compiled
    function has to be static.
    """
    body = outermost_body(event.place, evaluator)
    is_asked = any(isinstance(s, If) and _asks(s, field, body) for s in walk(body, nested=False))
    return is_asked and any(_sets(s, field) for s in walk(body, nested=False))


def _asks(statement: If, field: str, body: Body) -> bool:
    """Whether a test reads the counter, or a variable that is made from it."""
    tests = [part for test, _ in statement.branches for part in parts(test)]
    read = {part.id for part in tests if isinstance(part, Name)}
    return _reads(tests, field) or not read.isdisjoint(_made_from(field, body))


def _made_from(field: str, body: Body) -> Iterator[str]:
    """The variables that are made from the counter."""
    for statement in walk(body, nested=False):
        match statement:
            case Assign(targets=(Name(id=name),), value=value) if not isinstance(value, Call):
                if _reads(parts(value), field):
                    yield name


def _reads(expressions: Collection[Expr], field: str) -> bool:
    return any(isinstance(part, Attribute) and part.attr == field for part in expressions)


def _sets(statement: Statement, field: str) -> bool:
    """Whether a statement gives the counter a number that is written out."""
    match statement:
        case Assign(targets=(Attribute(attr=attr),), value=Constant()) if attr == field:
            return True
    calls = (part for part in own_parts(statement) if isinstance(part, Call) and last_name(part.func) in COPYING_NAMES)
    return any(isinstance(call.keyword(field), Constant) for call in calls)
