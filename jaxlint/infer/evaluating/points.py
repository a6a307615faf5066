"""What is known at each statement of a body, for rules that ask what an expression is after all was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxlint.infer.evaluating.closures import Point
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.values import UNKNOWN, Value, element_of, plain
from jaxlint.syntax.expressions import BoolOp, Comprehension, Conditional, Expr, Lambda, children
from jaxlint.syntax.statements import expressions


def value_at(expr: Expr, code: CodeRead, evaluator: Evaluator) -> Value:
    """What an expression of a body is where it stands, by all that led there; unknown inside of a lambda."""
    statement = code.contents.statement_of.get(id(expr))
    point = None if statement is None else code.points.get(id(statement))
    if statement is None or not isinstance(point, Point):
        return UNKNOWN
    with evaluator.calls.notes.elsewhere(point.place, point.reader, tells_calls=False):
        env = point.env.copy()
        if id(expr) in code.contents.conditional:
            way = next((way for whole in expressions(statement) for way in _ways(whole, expr)), ())
            if not _follow(way, env, evaluator):
                return UNKNOWN
        return plain(evaluator.evaluate(expr, env))


def _ways(whole: Expr, expr: Expr) -> Iterator[list[tuple[Expr, Expr]]]:
    """The way from an expression to one inside it: each expression around it, with the part that it goes into."""
    if whole is expr:
        yield []
    for part in children(whole):
        for way in _ways(part, expr):
            yield [(whole, part), *way]


def _follow(way: Sequence[tuple[Expr, Expr]], env: Environment, evaluator: Evaluator) -> bool:
    """Learn what holds on the way to an expression; whether its variables are known there."""
    for around, into in way:
        match around:
            case Lambda():
                return False
            case Comprehension(clauses=clauses):
                for clause in clauses:
                    if clause.iterable is into:
                        break
                    evaluator.bind_pattern(clause.target, element_of(evaluator.evaluate(clause.iterable, env)), env)
                    for condition in clause.conditions:
                        if condition is into:
                            break
                        evaluator.narrow(condition, env, True)
            case BoolOp(op=op, left=left, right=right) if into is right:
                evaluator.narrow(left, env, op == "and")
            case Conditional(test=test, body=body) if into is not test:
                evaluator.narrow(test, env, into is body)
    return True
