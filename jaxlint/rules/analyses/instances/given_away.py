"""The callers of a function that still use what it gives away of its parameters: their buffers are donated."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Value
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.bodies.deleted_reads import DeletedReads
from jaxlint.rules.analyses.bodies.read_after import ReadAfter
from jaxlint.rules.analyses.instances.passed import calls_of
from jaxlint.syntax.expressions import Call, Expr, dotted
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Body,
    Do,
    For,
    Jump,
    Return,
    Statement,
    While,
    With,
    all_parts,
    blocks,
    bound_names,
    walk,
)


def read_by_callers(
    parameter: str, donating: Call, value: Value, code: CodeRead, evaluator: Evaluator
) -> Iterator[Expr]:
    """Where callers in the module use again what they give the function that is read for a parameter.

    A call in the function donates the parameter, which holds a value.
    """
    function, module = code.function, code.place.module
    if function is None or function.owner or not function.takes(parameter):
        return
    if not _always_runs(donating, parameter, code.body):
        return
    transformed = evaluator.calls.transformed
    for called in calls_of(function, module, (module,), evaluator):
        given, caller = called.given.get(parameter), called.caller
        path = None if given is None else dotted(given)
        if given is None or caller is None or path is None or transformed.of(caller, module):
            continue
        body = evaluator.calls.body_of(FunctionSymbol(module, caller)) or ()
        again = ReadAfter(path, DeletedReads(path, value, evaluator).find).of(given.at, body)
        if again is not None:
            yield again


def _always_runs(call: Call, name: str, body: Body) -> bool:
    """Whether a body makes a call whatever it is given, but for loops without a turn, while a variable is unchanged."""
    for statement in body:
        match statement:
            case Assign(value=value) | Annotate(value=value) | Do(value=value) | Return(value=value) if value is call:
                return True
        inside = next((block for block in blocks(statement) if _holds(block, call)), None)
        if inside is not None:
            return (
                isinstance(statement, (For, While, With))
                and name not in bound_names(statement)
                and _always_runs(call, name, inside)
            )
        if _holds((statement,), call) or _ends_or_binds(statement, name):
            return False
    return False


def _holds(body: Body, call: Call) -> bool:
    return any(part is call for part in all_parts(body))


def _ends_or_binds(statement: Statement, name: str) -> bool:
    """Whether a statement may leave the body, or give a variable another value."""
    return any(isinstance(s, (Return, Jump)) or name in bound_names(s) for s in walk((statement,), nested=False))
