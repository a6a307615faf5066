"""The fix of what each turn of a loop makes and could be made once: it is bound to a variable in front of the loop."""

from __future__ import annotations

from collections.abc import Set

from jaxlint.cst.changes import InsertLine, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.rules.analyses.bodies.binding import free_name
from jaxlint.symbols.outline import Assignment
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Comprehension, Expr, Lambda, Name, root
from jaxlint.syntax.names_read import names_inside
from jaxlint.syntax.statements import (
    ClassDefinition,
    Do,
    For,
    FunctionDefinition,
    Importing,
    Statement,
    While,
    all_parts,
    assigned_names,
    bound_names,
    parts,
    target_names,
    targets_of,
    walk,
)


@proposing
def making_once(expr: Expr, name: str, loop: Statement | None, code: CodeRead) -> Proposal | None:
    """The unsafe fix that binds a variable, `name` if that is free, to an expression in front of the loop that has it.

    There is none if it depends on what the loop binds or changes.
    """
    if not isinstance(loop, (For, While)) or isinstance(expr, Name):
        return None
    asked = names_inside(expr)
    if not asked.isdisjoint(_moving(loop)) or _may_change(asked - _fixed(code), expr, loop):
        return None
    text = code.place.module.source.segment(*place_of(expr.at))
    if "\n" in text or "#" in text:
        return None
    variable = free_name((name, f"same_{name}"), code.body, code.place)
    if not variable:
        return None
    first = loop.iterable if isinstance(loop, For) else loop.test
    changes = (InsertLine(first.at, f"{variable} = {text}"), Rewrite(expr.at, variable))
    return Proposal(f"Make `{variable}` once, before the loop", Applicability.UNSAFE, changes)


def _fixed(code: CodeRead) -> set[str]:
    """The names of what is imported, and of functions and classes, which a call does not change."""
    module = code.place.module.outline.module_scope
    found = {name for name, bound in module.bindings.items() if not any(isinstance(one, Assignment) for one in bound)}
    own = [s for s in walk(code.body, nested=False) if isinstance(s, (Importing, FunctionDefinition, ClassDefinition))]
    return found | {name for statement in own for name in bound_names(statement)}


def _may_change(names: Set[str], expr: Expr, loop: For | While) -> bool:
    """Whether a loop calls a method of a variable, or gives it to a call that stands alone, besides an expression."""
    inside = {id(part) for part in parts(expr)}
    for part in all_parts((loop,)):
        if isinstance(part, Call) and id(part) not in inside and isinstance(part.func, Attribute):
            start = root(part.func)
            if isinstance(start, Name) and start.id in names:
                return True
    alone = (s.value for s in walk((loop,)) if isinstance(s, Do))
    given = (part for value in alone for part in parts(value) if id(part) not in inside)
    return any(isinstance(part, Name) and part.id in names for part in given)


def _moving(loop: For | While) -> set[str]:
    """The variables that a loop binds anywhere inside, and those whose contents it changes."""
    found = set(assigned_names((loop,)))
    for statement in walk((loop,)):
        if isinstance(statement, FunctionDefinition):
            found |= {statement.name, *statement.params}
        for target in targets_of(statement):
            start = root(target)
            found |= {start.id} if isinstance(start, Name) else set(target_names(target))
    for part in all_parts((loop,)):
        if isinstance(part, Comprehension):
            found.update(name for clause in part.clauses for name in target_names(clause.target))
        elif isinstance(part, Lambda):
            found.update((*part.params, *part.other_params))
    return found
