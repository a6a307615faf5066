"""Which calls make what an expression stands for: through variables, attributes of `self`, closures and callers."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol, ValueSymbol
from jaxlint.pytrees.model import Placed
from jaxlint.rules.analyses.instances.passed import calls_of
from jaxlint.symbols.outline import Assignment, Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name
from jaxlint.syntax.statements import Assign, Body, Statement, assigned_names, bound_names, walk

#: Through how many bindings, attributes and parameters something is followed.
_MAX_STEPS = 5


def makers(placed: Placed, evaluator: Evaluator, *, by_callers: bool = True, steps: int = 0) -> Iterator[Placed]:
    """The calls that make what an expression is, none if something binds it that is not seen through.

    What is a parameter is made in those who call the function or make an instance of its class, each of them one; with
    `by_callers` false they are not asked. What is bound anew further below counts as what it is the first time.
    """
    expr, module = placed.expr, placed.module
    if steps > _MAX_STEPS:
        return
    found: list[Placed] = []
    match expr:
        case Call():
            yield placed
        case Name(id=name):
            for function in _around(placed.scope, module):
                body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
                bound = _bound_before(expr, placed.scope == function.inner_scope, body)
                if function.takes(name):
                    if by_callers and not bound:
                        homes = (module, *evaluator.model.importers(module))
                        calls = calls_of(function, module, homes, evaluator)
                        found = [Placed(c.given[name], c.module, c.scope) for c in calls if name in c.given]
                    break
                if name in assigned_names(body):
                    match bound:
                        case [Assign(targets=(Name(),), value=value)]:
                            found = [Placed(value, module, function.inner_scope)]
                    break
            else:
                symbol = evaluator.model.resolver.follow(evaluator.model.resolver.resolve(expr, module, placed.scope))
                if isinstance(symbol, ValueSymbol) and symbol.assignment.value is not None:
                    found = [Placed(symbol.assignment.value, symbol.module, symbol.scope)]
                elif not placed.scope:
                    found = [Placed(value, module, "") for value in _given_before(expr, module)]
        case Attribute(value=Name(id=own), attr=attr):
            method = next((f for f in _around(placed.scope, module) if f.owner and f.self_name == own), None)
            if method is not None and method.owner is not None:
                cls = evaluator.model.build(ClassSymbol(module, module.outline.classes[method.owner]))
                given = cls.assigned.get(attr, ()) if cls.bases_known else ()
                found = [one for one in given if one is not None] if len(given) == 1 else []
    for one in found:
        yield from makers(one, evaluator, by_callers=by_callers, steps=steps + 1)


def _around(scope: str, module: Module) -> Iterator[Function]:
    """The functions around a scope, from the innermost to the outermost."""
    while scope:
        outer, inside, _ = scope.rpartition(".<locals>")
        function = module.outline.functions.get(outer) if inside else None
        if function is not None:
            yield function
        scope = outer


def _given_before(name: Name, module: Module) -> list[Expr]:
    """What a variable of a script is given before it is read there, if it is bound anew further below only."""
    bindings = module.outline.module_scope.bindings.get(name.id, ())
    assigned = [b for b in bindings if isinstance(b, Assignment)]
    before = [b.value for b in assigned if b.at.row < place_of(name.at).row]
    return [v for v in before if v is not None] if len(before) == 1 and len(assigned) == len(bindings) else []


def _bound_before(name: Name, is_own: bool, body: Body) -> list[Statement]:
    """What binds a variable of a body before it is read the first time; anything that does where a closure reads it."""
    row = place_of(name.at).row
    bound = [s for s in walk(body) if name.id in bound_names(s)]
    rows = [s.at.end_lineno if isinstance(s, Assign) else s.at.lineno for s in bound]
    return [s for s, last in zip(bound, rows, strict=True) if not is_own or last < row]
