"""Updates in a loop that start from the same original in each turn: whether the next turn loses what they set."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Replace, Update
from jaxlint.libraries.updates import TREE_AT
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.changes.updates import index_updated
from jaxlint.rules.analyses.instances.passed import given_by
from jaxlint.symbols.outline import UPDATING, Function
from jaxlint.syntax.expressions import Attribute, Call, DictDisplay, Display, Expr, Name, dotted, items_of, last_name
from jaxlint.syntax.names_read import names_in
from jaxlint.syntax.statements import Assign, Statement, all_parts, parts


def sets_something_else(update: Update, bound: Collection[str]) -> bool:
    """Whether which part an update sets depends on variables that a loop binds: each turn sets another one."""
    if update.function.startswith("at."):
        setting: Sequence[Expr | None] = (index_updated(update),)
    elif update.function == TREE_AT:
        setting = update.call.positional[:1]
    else:
        given = (a.value for a in update.call.args if a.star == "**")
        setting = [key for value in given if isinstance(value, DictDisplay) for key in value.keys]
    return any(_names(expr, bound) for expr in setting if expr is not None)


def adds_up(update: Update, bound: Collection[str], evaluator: Evaluator) -> bool:
    """Whether an update goes on from what the original holds, by something that each turn of a loop binds anew."""
    base, by = update.base, update.by if isinstance(update, Replace) else None
    given = [argument for argument in update.call.args if argument.value is not base]
    if not isinstance(update, Replace) or base is None or not any(_names(a.value, bound) for a in given):
        return False
    if by is not None:
        return _goes_on(by, update, evaluator)
    held = {a.keyword: f"{dotted(base)}.{a.keyword}" for a in given if a.keyword is not None}
    return update.function == "apply_gradients" or any(
        _names(a.value, bound) and any(dotted(part) == held[a.keyword] for part in parts(a.value))
        for a in given
        if a.keyword is not None
    )


def copy_beside(statement: Statement, beside: Mapping[int, Update]) -> tuple[str, Update] | None:
    """The variable that a statement gives the copy that a call returns `beside` something else, and that update.

    `state, loss = step(state, batch)`
    """
    match statement:
        case Assign(targets=(Display(kind="tuple", items=targets),), value=Call() as call):
            update = beside.get(id(call.at))
            by = update.by if isinstance(update, Replace) else None
            if update is None or by is None:
                return None
            places = {
                tuple(index for index, item in enumerate(items_of(value)) if _is_copy(item, by.declaration))
                for value in by.declaration.return_values
            }
            place = next(iter(places)) if len(places) == 1 else ()
            target = targets[place[0]] if len(place) == 1 and place[0] < len(targets) else None
            return (target.id, update) if isinstance(target, Name) else None
    return None


def _names(expr: Expr, bound: Collection[str]) -> bool:
    return any(next(names_in(expr, name), None) is not None for name in bound)


def _goes_on(by: FunctionSymbol, update: Replace, evaluator: Evaluator) -> bool:
    """Whether a function of the user's reads of what it copies a field that it sets."""
    function = by.declaration
    own = (
        function.self_name
        if isinstance(update.call.func, Attribute) and update.call.func.value is update.base
        else None
    )
    copied = own or next((n for n, expr in given_by(update.call, function).items() if expr is update.base), None)
    returned = [item for value in function.return_values for item in items_of(value)]
    calls = [c for c in (*returned, *(call for _, call in function.copies)) if isinstance(c, Call)]
    if any(last_name(call.func) == "apply_gradients" for call in calls):
        return True
    fields = {a.keyword for call in calls if last_name(call.func) in UPDATING for a in call.args}
    body = evaluator.calls.body_of(by) or ()
    read = (part for part in all_parts(body) if isinstance(part, Attribute) and dotted(part.value) == copied)
    return copied is not None and any(part.attr in fields for part in read)


def _is_copy(returned: Expr, function: Function) -> bool:
    """Whether a function returns an update, or a variable that holds one."""
    if isinstance(returned, Name):
        return any(returned.id == name for name, _ in function.copies)
    return isinstance(returned, Call) and last_name(returned.func) in UPDATING | {"apply_gradients"}
