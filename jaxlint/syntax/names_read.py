"""Which variables statements read: where one of them is read, and all at once.

To ask for each by itself takes a body as often as it has names. Both tell the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.syntax.expressions import Comprehension, Display, Expr, Lambda, Name, NamedExpr, Starred, children
from jaxlint.syntax.remembered import remembered
from jaxlint.syntax.statements import (
    Body,
    FunctionDefinition,
    blocks,
    bound_by,
    expressions,
    is_own,
    own_names,
    own_parts,
    target_names,
    walk,
)


def reads(body: Body, name: str) -> Iterator[Name]:
    """The places where the variable `name` is read, changed in place or deleted, in functions inside too.

    Functions that have a variable of that name of their own are left out, and plain bindings are no reads.
    """
    for statement in body:
        targets = bound_by(statement)
        for expr in expressions(statement):
            yield from _target_reads(expr, name) if any(expr is t for t in targets) else names_in(expr, name)
        if isinstance(statement, FunctionDefinition) and is_own(name, statement.params, statement.body):
            continue
        for block in blocks(statement):
            yield from reads(block, name)


def of_around(expr: Expr, name: str) -> tuple[Expr, ...]:
    """The expressions directly inside one in which the variable `name` is that of around it.

    A lambda or comprehension with a variable of that name has only its defaults, or what it first goes over.
    """
    match expr:
        case Lambda(params=params, other_params=others, defaults=defaults) if name in params or name in others:
            return defaults
        case Comprehension(clauses=clauses) if any(name in target_names(clause.target) for clause in clauses):
            return (clauses[0].iterable,)
        case NamedExpr(value=value):
            return (value,)
    return children(expr)


def names_in(expr: Expr, name: str) -> Iterator[Name]:
    """The places in an expression where the variable `name` of the scope around it is read."""
    stack = [expr]
    while stack:
        current = stack.pop()
        if isinstance(current, Name) and current.id == name:
            yield current
        else:
            stack.extend(reversed(of_around(current, name)))


def _target_reads(target: Expr, name: str) -> Iterator[Name]:
    """The reads of `name` in an assignment target: `name.x` and `name[0]` change what it holds."""
    match target:
        case Name():
            return
        case Starred(value=value):
            yield from _target_reads(value, name)
        case Display(items=items):
            for item in items:
                yield from _target_reads(item, name)
        case _:
            yield from names_in(target, name)


@remembered(2048)  # of a long file that is edited, its statements alone, too
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


@remembered(64)
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
