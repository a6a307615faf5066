"""Optimizer states that `update` returns and nobody keeps, though the state that held the old one goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead, Construct, KeywordValue, Replace
from jaxlint.libraries.optimizers import JOINING, KEEPING, KEEPING_WITH_MOMENTUM, WRAPPING
from jaxlint.libraries.updates import REPLACE_FUNCTIONS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.rules.analyses.changes.purposes import applies_updates
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.makers import makers
from jaxlint.syntax.expressions import Attribute, Call, Constant, Display, Expr, Name, dotted, same
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import Assign, Statement, target_names

#: How deep an optimizer is looked for in others.
_MAX_DEPTH = 4


class LostOptimizerState(msgspec.Struct, frozen=True):
    """What `update` returned and nobody reads, and the field that keeps the old one."""

    at: object
    name: str
    base: str
    field: str
    cls: PytreeClass


def lost_optimizer_states(code: CodeRead, evaluator: Evaluator) -> Iterator[LostOptimizerState]:
    """`updates, _ = opt.update(grads, fit.opt_state)`, where the function makes the next `fit` with the old one."""
    made = [e for e in code.events if isinstance(e, (Replace, Construct)) and not e.call.has_star]
    for statement in code.statements if made else ():
        found = _update(statement)
        if found is None:
            continue
        optimizer, held, new_state = found
        base = dotted(held.value)
        instance = LocalInstances.of(code, evaluator).instance(held.value)
        if base is None or instance is None or instance.cls.field(held.attr) is None:
            continue
        if not any(_goes_on(one, held, new_state, instance.cls, code) for one in made) or _is_given(held, code):
            continue
        if next(reads(code.body, new_state.id), None) is not None:
            continue
        if _may_keep(optimizer, new_state, code, evaluator):
            yield LostOptimizerState(new_state.at, new_state.id, base, held.attr, instance.cls)


def _goes_on(made: Replace | Construct, held: Attribute, new_state: Name, cls: PytreeClass, code: CodeRead) -> bool:
    """Whether an instance takes the step and has the state of the optimizer that was held before it.

    It is an updated copy of the old instance, made by no method that cannot be read, or a new instance of the class
    that gets the old state again. An underscore before the name of the new state says that this is meant.
    """
    if _gives(made, held) and (not _gives_again(made, held) or new_state.id.startswith("_")):
        return False
    match made:
        case Replace():
            copying = (*REPLACE_FUNCTIONS, made.receiver.cls.framework.replace_method)
            is_next = made.base is not None and same(made.base, held.value) and made.function in copying
            given = [a.value for a in made.call.args if a.keyword is not None]
        case Construct():
            is_next = made.cls.cls is cls and _gives_again(made, held)
            given = [a.value for a in made.call.args]
    return is_next and _takes_step(given, code)


def _gives(made: Replace | Construct, held: Attribute) -> bool:
    """Whether an instance gets something for the field that held the state."""
    return any(given.name == held.attr for given in _given(made))


def _gives_again(made: Replace | Construct, held: Attribute) -> bool:
    """Whether it gets what that field held."""
    places = [given.at for given in _given(made) if given.name == held.attr]
    return any(a.at is at and same(a.value, held) for a in made.call.args for at in places)


def _given(made: Replace | Construct) -> tuple[KeywordValue, ...]:
    return made.keywords if isinstance(made, Replace) else made.arguments


def _takes_step(given: Iterable[Expr], code: CodeRead) -> bool:
    """Whether one of the values is what `apply_updates` returns, here or in a variable."""
    stepped = {
        name
        for s in code.statements
        if isinstance(s, Assign) and applies_updates(s.value)
        for target in s.targets
        for name in target_names(target)
    }
    return any(applies_updates(value) or (isinstance(value, Name) and value.id in stepped) for value in given)


def _may_keep(optimizer: Expr, new_state: Name, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether an optimizer keeps something, or, where nothing shows how it is made, the code gives that a name."""
    module, scope = code.place.module, code.scope
    if isinstance(optimizer, Call):
        return keeps(optimizer, module, scope, evaluator)
    made = list(makers(Placed(optimizer, module, scope), evaluator, by_callers=True))
    if not made:
        return not new_state.id.startswith("_")
    return any(keeps(one.expr, one.module, one.scope, evaluator, depth=1) for one in made)


def _update(statement: Statement) -> tuple[Expr, Attribute, Name] | None:
    """The optimizer of `updates, new = optimizer.update(grads, state.field, …)`, the field, and the variable."""
    match statement:
        case Assign(
            targets=(Display(items=(_, Name() as new_state)),),
            value=Call(func=Attribute(value=optimizer, attr="update")) as call,
        ):
            given = call.positional[1] if len(call.positional) > 1 else call.keyword("state")
            if isinstance(given, Attribute):
                return optimizer, given, new_state
    return None


def _is_given(held: Attribute, code: CodeRead) -> bool:
    """Whether some instance gets another value for the field that held the state, or may get one."""
    for event in code.events:
        match event:
            case Replace(call=call) | Construct(call=call):
                if call.has_star or (_gives(event, held) and not _gives_again(event, held)):
                    return True
            case AssignAttribute(attr=attr) if attr in (held.attr, ""):
                return True
    return False


def keeps(expr: Expr, module: Module, scope: str, evaluator: Evaluator, *, depth: int = 0) -> bool:
    """Whether an expression certainly is an optimizer that keeps something from step to step."""
    resolver = evaluator.model.resolver
    if depth > _MAX_DEPTH:
        return False
    if not isinstance(expr, Call):
        made = makers(Placed(expr, module, scope), evaluator, by_callers=False)
        return any(keeps(one.expr, one.module, one.scope, evaluator, depth=depth + 1) for one in made)
    name = resolver.library_name(expr.func, module, scope)
    if name in JOINING and not expr.has_star:
        return any(keeps(part, module, scope, evaluator, depth=depth + 1) for part in expr.positional)
    if name in WRAPPING:
        return any(keeps(part, module, scope, evaluator, depth=depth + 1) for part in expr.positional[:1])
    if name in KEEPING_WITH_MOMENTUM:
        momentum = expr.keyword("momentum")
        return momentum is not None and not (isinstance(momentum, Constant) and momentum.value is None)
    if name in KEEPING:
        return True
    symbol = None if name.startswith("optax.") else resolver.follow(resolver.resolve(expr.func, module, scope))
    if isinstance(symbol, FunctionSymbol):
        made_by = symbol.declaration
        returned = () if made_by.decorators or made_by.is_generator else made_by.return_values
        return bool(returned) and all(
            keeps(value, symbol.module, made_by.inner_scope, evaluator, depth=depth + 1) for value in returned
        )
    return False
