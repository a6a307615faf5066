"""What the variables around a local function are while it runs: some are bound again before its body is read."""

from __future__ import annotations

from collections.abc import Mapping

from jaxlint.infer.bodies.contents import contents_of
from jaxlint.infer.evaluating.closures import Closure, Point
from jaxlint.infer.known.deferred import Held
from jaxlint.infer.known.environment import Environment, either
from jaxlint.syntax.expressions import Name
from jaxlint.syntax.statements import Body, FunctionDefinition


def surroundings(function: Closure, body: Body, points: Mapping[int, Point]) -> Environment:
    """The variables around a function, as they are where it is used and at the end of the `body` that defines it."""
    node, outer = function.node, function.outer
    after = outer.values
    if not after:
        return outer
    bindings = outer.module.outline.scopes[outer.scope].bindings
    again = [name for name in after if name in bindings and bindings[name][1:]]
    if not again or not isinstance(node, FunctionDefinition) or contents_of(node.body).names.isdisjoint(again):
        return outer
    contents = contents_of(body)
    uses = [id(contents.statement_of[id(name)]) for name in contents.of(Name) if name.id == node.name]
    changed: dict[str, Held] = {}
    for used in [points[statement].env.values for statement in dict.fromkeys(uses) if statement in points]:
        for name in again:
            held = used.get(name)
            if held is not None and held is not after[name]:
                changed[name] = either(changed.get(name, after[name]), held)
    if not changed:
        return outer
    result = outer.copy()
    for name, held in changed.items():
        result.bind(name, held)
    return result
