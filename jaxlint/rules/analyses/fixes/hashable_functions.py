"""The fix of a function that a transformation looks up by its hash, and that has none: an instance, or its method."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Proposal, RenameFunction, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Transformed
from jaxlint.infer.known.values import Instance, plain
from jaxlint.libraries.transforms import TAKING_MODULES, Transform
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.syntax.expressions import Call, Display, Expr, dotted


@proposing
def hashable_function(event: Transformed, receiver: Instance, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix of a function that has no hash; all that fails when it is called, so it is safe."""
    if event.applied.transform.runs:
        return _calling(event, receiver, code, evaluator) if event.function is None else None
    return _filtering(event, evaluator) if receiver.cls.framework.filters else None


@proposing
def _calling(event: Transformed, receiver: Instance, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix of an instance that is given to a loop: a lambda that calls it."""
    call = next((one for one in code.calls if one.at is event.at), None)
    given = [] if call is None or call.has_star else list(_functions(event.applied.transform, call))
    held = [plain(LocalInstances.of(code, evaluator).value(one)) for one in given]
    known = [expr for expr, value in zip(given, held, strict=True) if isinstance(value, Instance)]
    found = [e for e, v in zip(given, held, strict=True) if isinstance(v, Instance) and v.cls is receiver.cls] or known
    names = [one for one in found or given if dotted(one) is not None]
    if len(names) != 1:
        return None
    change = Rewrite(names[0].at, "lambda *args: {0}(*args)", (names[0].at,))
    return Proposal(f"Give a function that calls `{dotted(names[0])}`", Applicability.SAFE, (change,))


def _functions(transform: Transform, call: Call) -> Iterator[Expr]:
    """The functions that a call of a transformation is given, those in a list, too."""
    for position, keyword in transform.functions:
        given = call.keyword(keyword) or next(iter(call.positional[position:]), None)
        if given is not None:
            yield from given.items if isinstance(given, Display) else (given,)


@proposing
def _filtering(event: Transformed, evaluator: Evaluator) -> Proposal | None:
    """The fix: the transformation that traces the arrays of the module."""
    name = TAKING_MODULES.get(event.applied.transform.name)
    written = spelled(name, event.place.module, evaluator.model.resolver, event.place.scope) if name else None
    if written is None or event.applied.options:
        return None
    change = RenameFunction(event.at, event.applied.transform.name.rpartition(".")[2], written[0])
    return Proposal(f"Use `{written[0]}`", Applicability.SAFE, (change,), written[1])
