"""Functions inside of a body that do not read what they are given, but what it was computed to, or is, around them."""

from __future__ import annotations

from collections.abc import Container, Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Transformed
from jaxlint.libraries.transforms import CARRIED, Kind
from jaxlint.libraries.updates import AT, UPDATE_METHODS
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Display, Expr, Name, Subscript, dotted, last_name
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import (
    Assign,
    Body,
    FunctionDefinition,
    Return,
    all_parts,
    is_own,
    own_names,
    parts,
    target_names,
    walk,
)

#: Where the initial carry of a loop and its function stand among the arguments.
_ARGUMENTS = {"jax.lax.scan": (1, 0), "jax.lax.while_loop": (2, 1), "jax.lax.fori_loop": (3, 2)}
#: The last names of the loops with a carry.
LOOPS = frozenset(name.rpartition(".")[2] for name in CARRIED)


class IgnoredCarry(msgspec.Struct, frozen=True):
    """A function of a loop that begins each turn with the initial carry, which it takes from around it."""

    at: object
    function: str
    parameter: str
    variable: str
    loop: str


class OtherRead(msgspec.Struct, frozen=True):
    """Where a function reads what is called like the parameter by which it is differentiated of another parameter."""

    at: object
    function: str
    parameter: str
    path: str
    #: Whether that is in the module that differentiates it; else the place is where that is done.
    is_here: bool


def of_other_parameters(code: CodeRead, evaluator: Evaluator) -> Iterator[OtherRead]:
    """The differentiated functions that do not read the parameter, but what is called so of another one."""
    for event in code.events:
        if not isinstance(event, Transformed) or event.applied.transform.kind is not Kind.GRAD:
            continue
        applied, function, module = event.applied, event.function, event.module
        if function is None or module is None or event.receiver is not None or applied.bound or applied.given:
            continue
        names, numbers = function.positional, applied.argnums
        if function.decorators or numbers is None or len(numbers) != 1 or not 0 <= numbers[0] < len(names):
            continue
        body, name = evaluator.calls.body_of(FunctionSymbol(module, function)) or (), names[numbers[0]]
        if name in own_names(body) or any(reads(body, name)):
            continue
        for part in all_parts(body):
            match part:
                case Attribute(value=Name(id=other), attr=attr) if attr == name and other in names:
                    is_here = module is code.place.module
                    yield OtherRead(part.at if is_here else applied.at, function.name, name, f"{other}.{attr}", is_here)
                    break


def computed_outside(body: Body, params: Container[str], given: str, call: Call, around: Body) -> Name | None:
    """A variable of the enclosing scope that a function reads, and that was computed from the path before the call.

    The call is that of the differentiated function, which is given the path.
    """
    computed: set[str] = set()
    begins = place_of(call.at)
    for statement in walk(around, nested=False):
        if not isinstance(statement, Assign) or place_of(statement.value.at) >= begins:
            continue
        inside = parts(statement.value)
        if any(dotted(part) == given for part in inside) and not any(part is call for part in inside):
            computed.update(name for target in statement.targets for name in target_names(target) if name != given)
    read = (part for part in all_parts(body) if isinstance(part, Name) and part.id in computed)
    return next((part for part in read if not is_own(part.id, params, body)), None)


def ignored_carries(code: CodeRead, evaluator: Evaluator) -> Iterator[IgnoredCarry]:
    """The loops of a body whose function does not read its carry, but the variable that is the initial one."""
    if code.contents.called.isdisjoint(LOOPS):
        return
    for call in code.calls:
        if last_name(call.func) not in LOOPS:
            continue
        name = evaluator.model.resolver.library_name(call.func, code.place.module, code.scope)
        places, positional = _ARGUMENTS.get(name), call.positional
        if places is None or len(positional) <= max(places):
            continue
        init, function = (positional[place] for place in places)
        if not isinstance(init, Name) or not isinstance(function, Name):
            continue
        for statement in code.statements:
            if isinstance(statement, FunctionDefinition) and statement.name == function.id:
                declared = code.place.module.outline.functions.get(f"{code.scope}.{statement.name}".lstrip("."))
                names = [] if declared is None else declared.positional[CARRIED[name] :][:1]
                found = _ignored(statement, names[0], init.id) if names else None
                if found is not None:
                    yield IgnoredCarry(found.at, statement.name, names[0], init.id, name)


def _ignored(function: FunctionDefinition, parameter: str, variable: str) -> Expr | None:
    """Where a function that does not read its carry reads the variable from around instead."""
    if parameter.startswith("_") or parameter in own_names(function.body) or any(reads(function.body, parameter)):
        return None
    returned = [s.value for s in walk(function.body, nested=False) if isinstance(s, Return) and s.value is not None]
    firsts = [value.items[0] if isinstance(value, Display) and value.items else value for value in returned]
    if not returned or any(isinstance(first, Name) and first.id == variable for first in firsts):
        return None  # it is handed on as it is
    if is_own(variable, function.params, function.body):
        return None
    return next(reads(function.body, variable), None) if _updates(variable, function.body) else None


def _updates(variable: str, body: Body) -> bool:
    """Whether a function makes a changed copy of a variable, or of a part of it: else each turn may begin afresh."""
    names = {variable}
    for statement in walk(body, nested=False):
        match statement:
            case Assign(targets=targets, value=Name(id=name) | Subscript(value=Name(id=name))) if name == variable:
                names.update(name for target in targets for name in target_names(target))
    for part in all_parts(body):
        match part:
            case Call(func=Attribute(value=Name(id=name), attr=attr)) if attr in UPDATE_METHODS and name in names:
                return True
            case Attribute(value=Name(id=name), attr=attr) if attr == AT and name in names:
                return True
    return False
