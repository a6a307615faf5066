"""Variables that are given a part of something else, and then nothing but updated copies of it."""

from __future__ import annotations

from collections.abc import Mapping

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Update
from jaxlint.rules.analyses.changes.unused_copies import measures
from jaxlint.syntax.expressions import Attribute, Expr, Name, Subscript, root
from jaxlint.syntax.statements import Annotate, Assign, Outer, Statement, Try, bound_names, walk


def holder_of(name: str, updates: Mapping[int, Update], code: CodeRead, evaluator: Evaluator) -> Expr | None:
    """What holds the part that a variable stands for: `state` for `part = state.part`; None if it is none.

    That is so for a variable that is given a part of another one, and then its own updates (of `updates`, by the
    identity of what is assigned), and nothing else. Who tests, measures or tries may want a copy for nothing.
    """
    if name.startswith("_") or any(isinstance(s, Outer) and name in s.names for s in code.statements):
        return None
    starts: list[Expr] = []
    for statement in code.statements:
        if name in bound_names(statement):
            value = _given(statement, name)
            if value is None:
                return None
            if id(value.at) not in updates:
                starts.append(value)
    if len(starts) != 1 or not isinstance(starts[0], (Attribute, Subscript)):
        return None
    start = root(starts[0])
    if not isinstance(start, Name) or start.id == name or start.id not in code.parameters.keys() | code.contents.bound:
        return None
    if any(f.name.startswith("test") for f in code.place.functions) or measures(code, evaluator):
        return None
    tried = (inside for s in code.statements if isinstance(s, Try) for inside in walk((s,), nested=False))
    return None if any(name in bound_names(inside) for inside in tried) else starts[0].value


def _given(statement: Statement, name: str) -> Expr | None:
    """What a statement gives to a variable alone."""
    match statement:
        case Assign(targets=(Name(id=bound),), value=value) if bound == name:
            return value
        case Annotate(target=Name(id=bound), value=value) if bound == name:
            return value
    return None
