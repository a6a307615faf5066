"""Which `with` statements and calls expect what is inside of them to fail."""

from __future__ import annotations

from jaxlint.symbols.outline import EXPECTS_ERROR, SUPPRESSING, UNRELATED_ERRORS
from jaxlint.syntax.expressions import Call, Expr, dotted, last_name

#: How the names of classes of errors end.
_ERRORS = ("Error", "Exception")


def expects_error(expr: Expr) -> bool:
    """Whether the body of `with expr:` is expected to raise an error that a mistake may raise which is looked for."""
    if not isinstance(expr, Call) or last_name(expr.func) not in EXPECTS_ERROR:
        return False
    return not suppresses_unrelated(expr)


def suppresses_unrelated(expr: Expr) -> bool:
    """Whether an expression is `suppress(KeyError)` or the like: such errors have other causes."""
    if not isinstance(expr, Call) or last_name(expr.func) != SUPPRESSING:
        return False
    return all(not arg.star and last_name(arg.value) in UNRELATED_ERRORS for arg in expr.args)


def is_given_error(call: Call) -> bool:
    """Whether a class of errors is passed to a call: what the functions do that it is given may be meant to fail."""
    return any((dotted(arg.value) or "").endswith(_ERRORS) for arg in call.args)
