"""Whether a function only runs inside of loops and branches of jax, where what was a Python number is an array."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.libraries.transforms import TRANSFORMS, Kind
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.instances.given_literals import calls_in
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, Expr, Lambda, Name, last_name
from jaxlint.syntax.statements import Body, FunctionDefinition, all_parts, parts, walk

_RUNNING = frozenset(
    name.rpartition(".")[2] for name, one in TRANSFORMS.items() if one.runs and one.kind in (Kind.LOOP, Kind.BRANCH)
)


def runs_in_loops_alone(function: Function, module: Module, evaluator: Evaluator) -> bool:
    """Whether it is called, and each call of its name stands in a function that a loop or a branch is given."""
    written = re.compile(rf"\b{re.escape(function.name)}\s*\(")
    is_called = False
    for home in (module, *evaluator.model.importers(module)):
        if home is not module and written.search(home.source.text) is None:
            continue
        for call, caller in calls_in(home, written, evaluator):
            if last_name(call.func) != function.name:
                continue
            body = None if caller is None else evaluator.calls.body_of(FunctionSymbol(home, caller))
            if body is None or not any(part is call for part in _run_by_loops(body)):
                return False
            is_called = True
    return is_called


def _run_by_loops(body: Body) -> Iterator[Expr]:
    """The expressions of the functions and lambdas in a body that its loops and branches are given."""
    given = [value for call in _loops(all_parts(body)) for argument in call.args for value in parts(argument.value)]
    names = {value.id for value in given if isinstance(value, Name)}
    for value in given:
        if isinstance(value, Lambda):
            yield from parts(value.body)
    for statement in walk(body):
        if isinstance(statement, FunctionDefinition) and statement.name in names:
            yield from all_parts(statement.body)


def _loops(expressions: Iterable[Expr]) -> Iterator[Call]:
    return (one for one in expressions if isinstance(one, Call) and last_name(one.func) in _RUNNING)
