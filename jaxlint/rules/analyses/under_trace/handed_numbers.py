"""Where a function that is given a traced number, by itself, asks Python for its value: `sample(key, config.size)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.rules.analyses.instances.callees import Callee
from jaxlint.rules.analyses.under_trace.static_uses import StaticUses, Use, names_asked_in
from jaxlint.rules.analyses.under_trace.traced_leaves import Leaf
from jaxlint.symbols.outline import names_by_position
from jaxlint.syntax.expressions import Call, Expr, Name
from jaxlint.syntax.statements import assigned_names, bound_once


def handed_numbers(
    call: Call, callee: Callee, leaves: Mapping[int, Leaf], evaluator: Evaluator
) -> Iterator[tuple[Use, Leaf, object]]:
    """The uses in a function of the leaves (by the identities of the arguments) that a call gives it.

    With each where the call is given it. A parameter that is bound anew may be no tracer any more.
    """
    names = iter(names_by_position(callee.parameters))
    given: dict[str, tuple[Leaf, object]] = {}
    for argument in call.args:
        name = argument.keyword or next(names, "")
        if id(argument.value) in leaves:
            given[name] = leaves[id(argument.value)], argument.value.at
    asked = given.keys() & names_asked_in(callee.body) - assigned_names(callee.body)
    if not asked:
        return

    def name_of(expr: Expr) -> str:
        return evaluator.model.resolver.library_name(expr, callee.module, callee.scope)

    uses = StaticUses(lambda e: isinstance(e, Name) and e.id in asked, lambda e: "", name_of, bound_once(callee.body))
    for use in uses.of(callee.body):
        if isinstance(use.expr, Name) and not use.takes_arrays:
            leaf, at = given[use.expr.id]
            yield use, leaf, at
