"""Updates of a field whose new value a function hands on, but not the copy that holds it."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Update
from jaxlint.project.resolution import External
from jaxlint.rules.analyses.changes.coming_round import comes_round
from jaxlint.rules.analyses.changes.returning import returned_variables
from jaxlint.syntax.expressions import Attribute, Call, DictDisplay, Expr, Name, dotted
from jaxlint.syntax.statements import (
    Assign,
    Body,
    FunctionDefinition,
    Return,
    all_parts,
    assigned_names,
    bound_once,
    parts,
    walk,
)

#: The update of a train state that changes its parameters, its optimizer's state and its count of steps.
OPTIMIZER_STEP = "apply_gradients"


def keeps_only_part(
    name: str,
    original: str,
    update: Update,
    code: CodeRead,
    following: Body,
    evaluator: Evaluator,
    *,
    is_repeated: bool,
) -> bool:
    """Whether `name`, an update of a state that goes on from step to step, is read for nothing but a result.

    Each field that the update changes is computed of what the state had in it, as a sum of losses is: the next step
    goes on from the sum before. A state that the function does not step on may be tried out with other values; but who
    lets the optimizer make its step and hands back the state as well, has trained for nothing; unless a function is
    given the new parameters and says how good they are, which looks ahead. The function steps on the state itself and
    returns it; or a loop takes the state that it gave for the next one, and then a copy of which some field goes on
    from what it was is that, whatever is read of it.

    What runs after the update is `following`, and the rest of the body where a loop repeats it.
    """
    is_step = update.function == OPTIMIZER_STEP
    changed = _carried_on(update, original)
    if not is_step and not changed:
        return False
    body = code.body if is_repeated else following
    if is_bound_in(original, following) or (name not in bound_once(body) if is_repeated else is_bound_in(name, body)):
        return False
    is_handed_round = False
    if not is_step and not (len(changed) == len(update.keywords) and _is_stepped(original, update, code)):
        is_handed_round = comes_round((), original, code, evaluator)
        if not is_handed_round:
            return False
    reads_all = is_step or is_handed_round
    if any(isinstance(s, FunctionDefinition) for s in walk(following)) or _is_read_inside(name, code.body):
        return False
    read = (p for p in all_parts(body) if isinstance(p, Attribute) and (reads_all or p.attr in changed))
    held = {id(p.value) for p in read}
    if any(isinstance(p, Name) and p.id == name and id(p) not in held for p in _read(body)):
        return False
    if is_step:
        return not any(_looks_ahead(call, name, code, evaluator) for call in all_parts(body) if isinstance(call, Call))
    handed_back = sum(
        read.id == original for s in following if isinstance(s, Return) for read in returned_variables(s.value)
    )
    return handed_back == sum(isinstance(p, Name) and p.id == original for p in _read(following))


def _is_read_inside(name: str, body: Body) -> bool:
    """Whether a function that is defined inside reads a variable."""
    inside = (s for s in walk(body) if isinstance(s, FunctionDefinition))
    return any(isinstance(p, Name) and p.id == name for s in inside for p in all_parts(s.body))


def _looks_ahead(call: Call, name: str, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a function of the user's, or one that a state holds, is given the parameters of a variable."""
    given = (argument.value for argument in call.args)
    items = (item for value in given for item in (value.values if isinstance(value, DictDisplay) else (value,)))
    if not any(dotted(item) == f"{name}.params" for item in items):
        return False
    return not isinstance(evaluator.model.resolver.resolve(call.func, code.place.module, code.scope), External)


def is_bound_in(name: str, following: Body) -> bool:
    """Whether one of some statements gives a variable something else; mostly the first of them does."""
    return any(name in assigned_names((statement,)) for statement in following)


def _carried_on(update: Update, original: str) -> frozenset[str]:
    """The fields that an update gives the result of a method of what they were, or some sum of it.

    They were so in the original, or in a copy of it that is updated.
    """
    found, bases = set[str](), {original, _base(update)}
    for keyword in () if update.call.has_star else update.keywords:
        value = update.call.keyword(keyword.name)
        paths = {f"{base}.{keyword.name}" for base in bases}
        # `state.metrics.reset()` keeps nothing
        if value is not None and not (isinstance(value, Call) and not value.args):
            if any(dotted(part) in paths for part in parts(value) if isinstance(part, Attribute)):
                found.add(keyword.name)
    return frozenset(found)


def _is_stepped(original: str, update: Update, code: CodeRead) -> bool:
    """Whether the function binds the variable of a state to an update of it, besides."""
    updates = {id(e.call) for e in code.events if isinstance(e, Update) and e is not update and _base(e) == original}
    return any(
        id(s.value) in updates and any(dotted(target) == original for target in s.targets)
        for s in code.statements
        if isinstance(s, Assign)
    )


def _base(update: Update) -> str | None:
    return None if update.base is None else dotted(update.base)


def _read(body: Body) -> list[Expr]:
    """The expressions of a body that are no variables which it binds."""
    targets = {id(t) for s in walk(body) if isinstance(s, Assign) for t in s.targets}
    return [part for part in all_parts(body) if id(part) not in targets]
