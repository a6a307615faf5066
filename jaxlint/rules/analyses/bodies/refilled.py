"""Lists that a function of the program is given, and fills with something else: what they held tells nothing then."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.symbols.outline import MUTATING
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, Subscript
from jaxlint.syntax.statements import Body, all_parts, targets_of, walk


def is_refilled(listed: Expr, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a body gives a variable to a function that puts something into the list that the variable holds."""
    if not isinstance(listed, Name):
        return False
    name = listed.id
    for call in (part for part in code.parts if isinstance(part, Call)):
        if any(isinstance(argument.value, Name) and argument.value.id == name for argument in call.args):
            symbol = evaluator.model.resolver.resolve(call.func, code.place.module, code.scope)
            if isinstance(symbol, FunctionSymbol) and symbol.declaration.acts and _fills(symbol, name, call, evaluator):
                return True
    return False


def _fills(symbol: FunctionSymbol, name: str, call: Call, evaluator: Evaluator) -> bool:
    """Whether a function certainly, or as far as can be seen, changes the list that it is given."""
    body = evaluator.calls.body_of(symbol)
    if body is None or call.has_star:
        return True
    given = call.given_to(symbol.declaration.positional)
    return any(_changes(taken, body) for taken, value in given.items() if isinstance(value, Name) and value.id == name)


def _changes(name: str, body: Body) -> bool:
    for statement in walk(body):
        for target in targets_of(statement):
            if isinstance(target, Subscript) and isinstance(target.value, Name) and target.value.id == name:
                return True
    for part in all_parts(body):
        match part:
            case Call(func=Attribute(value=Name(id=held), attr=attr)) if held == name and attr in MUTATING:
                return True
    return False
