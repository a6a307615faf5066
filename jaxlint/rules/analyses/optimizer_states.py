"""Optimizer states that `update` returns and nobody keeps, though the state that held the old one is updated."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import AssignAttribute, CodeRead, Construct, Replace
from jaxlint.libraries.optimizers import JOINING, KEEPING, KEEPING_WITH_MOMENTUM, WRAPPING
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ValueSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.updating import REPLACE_FUNCTIONS
from jaxlint.rules.analyses.local_instances import LocalInstances
from jaxlint.syntax.expressions import Attribute, Call, Constant, Display, Expr, Name, dotted, last_name
from jaxlint.syntax.statements import Assign, Statement, reads, target_names


class Unkept(msgspec.Struct, frozen=True):
    """What `update` returned and nobody reads, and the field that keeps the old one."""

    at: object
    name: str
    base: str
    field: str
    cls: PytreeClass


def unkept_optimizer_states(code: CodeRead, evaluator: Evaluator) -> Iterator[Unkept]:
    """`updates, _ = opt.update(grads, fit.opt_state)`, where the function makes an updated `fit` with the old one."""
    updates = [e for e in code.events if isinstance(e, Replace) and not e.call.has_star]
    for statement in code.statements if updates else ():
        found = _update(statement)
        if found is None:
            continue
        optimizer, held, kept = found
        base = dotted(held.value)
        instance = LocalInstances.of(code, evaluator).instance(held.value)
        if base is None or instance is None or instance.cls.field(held.attr) is None:
            continue
        own = [u for u in updates if u.base is not None and dotted(u.base) == base]
        if not any(_takes_step(u, code) for u in own) or _is_given(held.attr, code):
            continue
        if next(reads(code.body, kept.id), None) is None and keeps(optimizer, code.place.module, code.scope, evaluator):
            yield Unkept(kept.at, kept.id, base, held.attr, instance.cls)


def _takes_step(update: Replace, code: CodeRead) -> bool:
    """Whether a copy gets what `apply_updates` returns, here or in a variable, and no method does what nobody sees."""
    if update.function not in (*REPLACE_FUNCTIONS, update.receiver.cls.framework.replace_method):
        return False
    stepped = {
        name
        for s in code.statements
        if isinstance(s, Assign) and _applies(s.value)
        for target in s.targets
        for name in target_names(target)
    }
    given = [a.value for a in update.call.args if a.keyword is not None]
    return any(_applies(value) or (isinstance(value, Name) and value.id in stepped) for value in given)


def _applies(expr: Expr) -> bool:
    return isinstance(expr, Call) and last_name(expr.func) == "apply_updates"


def _update(statement: Statement) -> tuple[Expr, Attribute, Name] | None:
    """The optimizer of `updates, new = optimizer.update(grads, state.field, …)`, the field, and the variable."""
    match statement:
        case Assign(
            targets=(Display(items=(_, Name() as kept)),),
            value=Call(func=Attribute(value=optimizer, attr="update")) as call,
        ):
            given = call.positional[1] if len(call.positional) > 1 else call.keyword("state")
            if isinstance(given, Attribute):
                return optimizer, given, kept
    return None


def _is_given(field: str, code: CodeRead) -> bool:
    """Whether some instance gets another value for a field, or may get one."""
    for event in code.events:
        match event:
            case Replace(keywords=given, call=call) | Construct(arguments=given, call=call):
                if call.has_star or any(g.name == field for g in given):
                    return True
            case AssignAttribute(attr=attr) if attr in (field, ""):
                return True
    return False


def keeps(expr: Expr, module: Module, scope: str, evaluator: Evaluator, depth: int = 0) -> bool:
    """Whether an expression certainly is an optimizer that keeps something from step to step."""
    resolver = evaluator.model.resolver
    if isinstance(expr, Call):
        name = resolver.library_name(expr.func, module, scope)
        if name in JOINING and not expr.has_star:
            return any(keeps(part, module, scope, evaluator, depth + 1) for part in expr.positional)
        if name in WRAPPING:
            return any(keeps(part, module, scope, evaluator, depth + 1) for part in expr.positional[:1])
        if name in KEEPING_WITH_MOMENTUM:
            momentum = expr.keyword("momentum")
            return momentum is not None and not (isinstance(momentum, Constant) and momentum.value is None)
        return name in KEEPING
    symbol = resolver.follow(resolver.resolve(expr, module, scope))
    if not isinstance(symbol, ValueSymbol) or symbol.assignment.value is None or depth > 2:
        return False
    return keeps(symbol.assignment.value, symbol.module, symbol.scope, evaluator, depth + 1)
