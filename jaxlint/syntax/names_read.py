"""Which variables statements read, all at once: to ask for each by itself takes a body as often as it has names.

They tell what `reads` and `names_in` of `statements.py` find for a name.
"""

from __future__ import annotations

from functools import lru_cache

from jaxlint.syntax.expressions import Comprehension, Display, Expr, Lambda, Name, NamedExpr, Starred, children
from jaxlint.syntax.statements import (
    Body,
    FunctionDefinition,
    blocks,
    bound_by,
    expressions,
    own_names,
    own_parts,
    target_names,
    walk,
)


@lru_cache(maxsize=2048)  # of a long file that is edited, its statements alone, too
def names_read(body: Body) -> frozenset[str]:
    """The variables that some statements read, change in place or delete, in functions inside too."""
    found: set[str] = set()
    for statement in body:
        targets = bound_by(statement)
        for expr in expressions(statement):
            if any(expr is target for target in targets):
                _add_target(expr, found)
            else:
                _add(expr, found)
        for block in blocks(statement):
            inside = names_read(block)
            if isinstance(statement, FunctionDefinition):
                inside = inside - statement.params - own_names(block)
            found |= inside
    return frozenset(found)


@lru_cache(maxsize=64)
def names_captured(body: Body) -> frozenset[str]:
    """The variables that functions and lambdas in some statements read, which may be called at any time."""
    found: set[str] = set()
    for statement in walk(body, nested=False):
        if isinstance(statement, FunctionDefinition):
            found |= names_read((statement,))
        for part in own_parts(statement):
            if isinstance(part, Lambda):
                _add(part, found)
    return frozenset(found)


def names_inside(expr: Expr) -> frozenset[str]:
    """The variables of the scope around an expression that are read in it."""
    found: set[str] = set()
    _add(expr, found)
    return frozenset(found)


def _add(expr: Expr, found: set[str]) -> None:
    pending = [expr]
    while pending:
        current = pending.pop()
        match current:
            case Name(id=name):
                found.add(name)
            case Lambda(params=params, other_params=others, defaults=defaults, body=body):
                found |= names_inside(body).difference(params, others)
                pending += defaults
            case Comprehension(clauses=clauses):
                own = {name for clause in clauses for name in target_names(clause.target)}
                for child in children(current):
                    found |= names_inside(child) - own
                pending.append(clauses[0].iterable)
            case NamedExpr(value=value):
                pending.append(value)
            case _:
                pending += children(current)


def _add_target(target: Expr, found: set[str]) -> None:
    match target:
        case Name():
            return
        case Starred(value=value):
            _add_target(value, found)
        case Display(items=items):
            for item in items:
                _add_target(item, found)
        case _:
            _add(target, found)
