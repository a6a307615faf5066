"""Which `with` statements and calls expect what is inside of them to fail."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.symbols.outline import EXPECTS_ERROR, SUPPRESSING, UNRELATED_ERRORS
from jaxlint.syntax.expressions import Call, Display, Expr, Other, dotted, items_of, last_name
from jaxlint.syntax.statements import (
    Body,
    FunctionDefinition,
    Handler,
    Raise,
    Statement,
    Try,
    With,
    all_parts,
    blocks,
    walk,
)

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


def is_meant_to_fail(statement: Statement) -> bool:
    """Whether a statement is a `with` whose body is expected to raise such an error."""
    return isinstance(statement, With) and any(expects_error(expr) for expr, _ in statement.items)


def expected_to_work(body: Body, error: str = "") -> Iterator[Statement]:
    """The statements of a body without those inside functions, those that are meant to fail, and those that are tried.

    Of the latter all but those that wait for an `error`, if one is named, are expected to work.
    """
    for statement in body:
        yield statement
        if isinstance(statement, FunctionDefinition) or is_meant_to_fail(statement):
            continue
        tried = statement.body if isinstance(statement, Try) and (not error or _waits_for(error, statement)) else None
        for block in blocks(statement):
            if block is not tried:
                yield from expected_to_work(block, error)


def _waits_for(error: str, statement: Try) -> bool:
    """Whether a handler names the error."""
    caught = (handler.error for handler in statement.handlers if handler.error is not None)
    named = (one for expr in caught for one in (expr.items if isinstance(expr, Display) else (expr,)))
    return any(last_name(one) == error for one in named)


def swallows_what_it_runs(body: Body) -> bool:
    """Whether a function with `@contextmanager` goes on after an error in what stands below `with`: it handles it."""
    for statement in walk(body, nested=False):
        if isinstance(statement, Try) and any(_is_yield(part) for part in all_parts(statement.body)):
            for handler in statement.handlers:
                unrelated = handler.error is not None and all(n in UNRELATED_ERRORS for n in names_of_errors(handler))
                if not unrelated and not any(isinstance(inner, Raise) for inner in walk(handler.body)):
                    return True
    return False


def _is_yield(part: Expr) -> bool:
    return isinstance(part, Other) and part.kind == "Yield"


def names_of_errors(handler: Handler) -> list[str]:
    """The names of the errors that a handler names."""
    return [] if handler.error is None else [(dotted(n) or "").rpartition(".")[2] for n in items_of(handler.error)]


def is_given_error(call: Call) -> bool:
    """Whether a class of errors is passed to a call: what the functions do that it is given may be meant to fail."""
    return any((dotted(arg.value) or "").endswith(_ERRORS) for arg in call.args)
