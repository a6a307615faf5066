"""The fix of a loop that donates a state and does not bind it to the update which comes back."""

from __future__ import annotations

from collections.abc import Callable

from jaxlint.cst.changes import AssignTo, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.rules.analyses.fixes.rebinding import is_own_variable
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, Display, Expr, Name
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import Assign, Body, Do, assigned_names, walk

#: The place of the update in what a function returns: all of it is None.
_Position = tuple[bool, int | None]


@proposing
def binding_result(
    name: str, call: Call, function: Function, code: CodeRead, is_update: Callable[[Expr], bool]
) -> Proposal | None:
    """The fix: the variable that was passed is bound to the update, under whatever name that was.

    None if the variable is read by anything but the call, or bound elsewhere: then both are of use.
    """
    statement = next((s for s in walk(code.body, nested=False) if getattr(s, "value", None) is call), None)
    is_known, position = _position(function, is_update)
    if statement is None or not is_known or not is_own_variable(name, code.place):
        return None
    title = f"Bind `{name}` to the result"
    if isinstance(statement, Do):
        change = AssignTo(call.at, name)
        return Proposal(title, Applicability.UNSAFE, (change,)) if position is None else None
    target = _target(statement, position)
    if target is None or target.id == name or not _is_bound_once(target.id, code.body):
        return None
    if name in assigned_names(code.body) or _is_read_elsewhere(name, target.id, call, code.body):
        return None
    places = (target, *reads(code.body, target.id))
    return Proposal(title, Applicability.UNSAFE, tuple(Rewrite(place.at, name) for place in places))


def _position(function: Function, is_update: Callable[[Expr], bool]) -> _Position:
    """Whether it is known where in what a function returns the update stands, and where."""
    found: set[int | None] = set()
    for value in function.return_values:
        items = value.items if isinstance(value, Display) and value.kind == "tuple" else None
        places = [None] if items is None else [n for n, item in enumerate(items) if is_update(item)]
        if len(places) != 1 or (items is None and not is_update(value)):
            return False, None
        found.add(places[0])
    return len(found) == 1, next(iter(found), None)


def _target(statement: object, position: int | None) -> Name | None:
    """The variable that is given the update."""
    if not isinstance(statement, Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if position is not None:
        if not isinstance(target, Display) or target.has_star or position >= len(target.items):
            return None
        target = target.items[position]
    return target if isinstance(target, Name) else None


def _is_bound_once(name: str, body: Body) -> bool:
    targets = [t for s in walk(body) if isinstance(s, Assign) for target in s.targets for t in _names(target)]
    return targets.count(name) == 1


def _names(target: Expr) -> list[str]:
    if isinstance(target, Display):
        return [name for item in target.items for name in _names(item)]
    return [target.id] if isinstance(target, Name) else []


def _is_read_elsewhere(name: str, other: str, call: Call, body: Body) -> bool:
    """Whether a variable is read, but by the call, or by the last statement, which does not read the other one, too."""
    given, last = {id(argument.value) for argument in call.args}, body[-1:]
    if next(reads(last, other), None) is None:
        given.update(map(id, reads(last, name)))
    return any(id(read) not in given for read in reads(body, name))
