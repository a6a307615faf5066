"""Loops over a list of instances, whose function takes what it gets for one of them."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Container, Instance, element_of, plain
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Placed
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.symbols.outline import Parameter
from jaxlint.syntax.expressions import Attribute, Call, Expr, dotted
from jaxlint.syntax.statements import all_parts, assigned_names

#: The loop: its function gets a slice of what it goes through as its second argument.
SCAN = "jax.lax.scan"


def scanned_list(
    call: Call, instances: LocalInstances, code: CodeRead, evaluator: Evaluator
) -> tuple[Expr, Instance] | None:
    """The list that a scan goes through, and an item of it that its function takes for the instance.

    It is annotated so, or a field of it is read: what the function gets is a list of slices.
    """
    if evaluator.model.resolver.library_name(call.func, code.place.module, code.scope) != SCAN:
        return None
    given = call.given_to(("f", "init", "xs"))
    xs, function = given.get("xs"), given.get("f")
    if xs is None or function is None or call.has_star:
        return None
    held = plain(instances.value(xs))
    item = plain(element_of(held)) if isinstance(held, Container) and held.kind == "list" else None
    if not isinstance(item, Instance) or not item.cls.is_pytree:
        return None
    symbol = evaluator.model.resolver.resolve(function, code.place.module, code.scope)
    if not isinstance(symbol, FunctionSymbol) or evaluator.calls.transformed.is_wrapped(
        symbol.declaration, symbol.module
    ):
        return None
    taken = [p for p in symbol.declaration.parameters if p.kind == "positional"][1:2]
    return (xs, item) if taken and _takes_one(taken[0], symbol, item, evaluator) else None


def _takes_one(parameter: Parameter, function: FunctionSymbol, item: Instance, evaluator: Evaluator) -> bool:
    """Whether a parameter is annotated with the class of an item, or a field of that is read of it."""
    if parameter.annotation is not None:
        said = Placed(parameter.annotation, function.module, function.declaration.scope)
        declared = plain(evaluator.annotations.read(said))
        return isinstance(declared, Instance) and declared.cls in item.cls.mro
    body = evaluator.calls.body_of(function) or ()
    fields = {field.name for field in item.cls.fields}
    if parameter.name in assigned_names(body):
        return False
    return any(
        isinstance(part, Attribute) and part.attr in fields and dotted(part.value) == parameter.name
        for part in all_parts(body)
    )
