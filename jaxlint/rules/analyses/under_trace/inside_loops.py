"""Whether a function only runs where what was a Python number is an array: inside of loops and branches of jax."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.libraries.transforms import TRANSFORMS, Kind
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.given_literals import calls_in
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Argument, Call, Expr, Lambda, Name, last_name
from jaxlint.syntax.statements import Assign, Body, FunctionDefinition, all_parts, parts, target_names, walk

_RUNNING = frozenset(
    name.rpartition(".")[2] for name, one in TRANSFORMS.items() if one.runs and one.kind in (Kind.LOOP, Kind.BRANCH)
)
#: Functions that map over leaves, and those that choose between arrays.
_MAPS = frozenset({"map", "tree_map"})
_CHOICES = frozenset({"where", "select"})


def may_count_arrays(function: Function, module: Module, owner: PytreeClass | None, evaluator: Evaluator) -> bool:
    """Whether each call of a function that is seen makes arrays of the numbers that it hands on.

    It stands in a function that a loop or a branch is given, or its caller chooses leaf by leaf between what it returns
    and something else, as environments do that begin again. A base of the class may do so where none is seen.
    """
    written = re.compile(rf"\b{re.escape(function.name)}\s*\(")
    is_called = False
    for home in (module, *evaluator.model.importers(module)):
        if home is not module and written.search(home.source.text) is None:
            continue
        for call, caller in calls_in(home, written, evaluator):
            if last_name(call.func) != function.name:
                continue
            body = None if caller is None else evaluator.calls.body_of(FunctionSymbol(home, caller))
            if body is None or not (_is_chosen(call, body) or any(part is call for part in _run_by_loops(body))):
                return False
            is_called = True
    bases = () if owner is None else owner.mro[1:]
    return is_called or any(function.name in base.symbol.declaration.methods for base in bases)


def _is_chosen(call: Call, body: Body) -> bool:
    """Whether what a call returns goes through a map over leaves that chooses: `where(done, fresh, stepped)`."""
    bound = (s.targets for s in walk(body) if isinstance(s, Assign) and s.value is call)
    names = {name for targets in bound for target in targets for name in target_names(target)}
    for part in all_parts(body):
        match part:
            case Call(args=(Argument(value=Lambda(body=chosen)), *trees)) if last_name(part.func) in _MAPS:
                is_choice = any(isinstance(p, Call) and last_name(p.func) in _CHOICES for p in parts(chosen))
                if is_choice and any(isinstance(a.value, Name) and a.value.id in names for a in trees):
                    return True
    return False


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
