"""Whether the state that code takes out of a module of flax.nnx may leave that code, or goes back into the module."""

from __future__ import annotations

from jaxlint.syntax.expressions import Call, Expr, Name, Other, items_of, last_name
from jaxlint.syntax.statements import Assign, Body, Delete, Do, Statement, expressions, parts, target_names, walk


def leaves(call: Call, statement: Statement, body: Body, module: str) -> bool:
    """Whether what a call in a body takes out of the variable `module` may go anywhere but back into it."""
    if not isinstance(statement, Assign):
        return not isinstance(statement, Do) or not (statement.value is call or _puts_back(statement.value, module))
    names = set[str]()
    if not _bind(statement, names):
        return True
    while True:
        before = len(names)
        for other in walk(body):
            if other is not statement and _mentions(other, names) and not _stays(other, names, module):
                return True
        if len(names) == before:
            return False


def _stays(statement: Statement, names: set[str], module: str) -> bool:
    """Whether a statement that reads some variables only makes others of them, which it adds, or updates the module."""
    match statement:
        case Assign(value=value):
            return not _yields(value) and _bind(statement, names)
        case Do(value=value):
            return not _yields(value) and _puts_back(value, module)
    return isinstance(statement, Delete)


def _bind(statement: Assign, names: set[str]) -> bool:
    """Add the variables that an assignment binds; whether it binds nothing else."""
    for target in statement.targets:
        items = items_of(target)
        if not all(isinstance(item, Name) for item in items):
            return False
        names.update(target_names(target))
    return True


def _puts_back(expr: Expr, module: str) -> bool:
    """Whether an expression is `nnx.update(module, …)`."""
    if not isinstance(expr, Call) or last_name(expr.func) != "update" or not expr.positional:
        return False
    first = expr.positional[0]
    return isinstance(first, Name) and first.id == module


def _mentions(statement: Statement, names: set[str]) -> bool:
    return any(isinstance(p, Name) and p.id in names for expr in expressions(statement) for p in parts(expr))


def _yields(expr: Expr) -> bool:
    return any(isinstance(part, Other) and part.kind in ("Yield", "YieldFrom") for part in parts(expr))
