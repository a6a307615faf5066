"""Which branches of a function a call does not come to, by what it gives to the parameters that they ask for."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, Compare, Constant, Display, Expr, Name, Unary, is_none
from jaxlint.syntax.statements import Body, If, bound_names, walk


def left_out(call: Call, function: Function, body: Body, optional: Collection[str]) -> frozenset[int]:
    """The identities of the statements in the branches of a method that a call of it does not come to.

    What is given for a parameter that may be None is taken to be there, unless it is a variable of `optional`: a
    parameter of the caller that may be None itself.
    """
    if call.has_star:
        return frozenset()
    names = [name for name in function.positional if name != function.self_name]
    given = call.given_to(names)
    defaults = {p.name: p.default for p in function.parameters if p.default is not None and p.name not in given}
    known = {name: value for name, value in given.items() if not (isinstance(value, Name) and value.id in optional)}
    closed: list[Body] = []
    bound: set[str] = set()
    for statement in walk(body, nested=False):
        if isinstance(statement, If):
            closed += _closed(statement, {n: v for n, v in (known | defaults).items() if n not in bound}, known)
        bound.update(bound_names(statement))
    return frozenset(id(one) for block in closed for one in walk(block))


def _closed(statement: If, values: Mapping[str, Expr], given: Collection[str]) -> list[Body]:
    """The blocks of an `if` that are not run."""
    closed: list[Body] = []
    is_decided = False
    for test, block in statement.branches:
        truth = False if is_decided else _truth(test, values, given)
        if truth is False:
            closed.append(block)
        is_decided = is_decided or truth is True
    return [*closed, statement.orelse] if is_decided else closed


def _truth(test: Expr, values: Mapping[str, Expr], given: Collection[str]) -> bool | None:
    """Whether a test on one parameter holds, where what is given tells."""
    match test:
        case Unary(op="not", operand=operand):
            truth = _truth(operand, values, given)
            return None if truth is None else not truth
        case Name(id=name) if name in values:
            value = values[name]
            return bool(value.value) if isinstance(value, Constant) and value.kind in ("bool", "NoneType") else None
        case Compare(left=Name(id=name), ops=("is" | "is not" as op,), comparators=(other,)):
            if name not in values or not is_none(other):
                return None
            value = values[name]
            if is_none(value):
                return op == "is"
            return op == "is not" if name in given or isinstance(value, (Constant, Display)) else None
    return None
