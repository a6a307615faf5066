"""Trees that are mapped together although they are instances of two classes: their structures differ."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Instance
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.syntax.expressions import Call


class TwoClasses(msgspec.Struct, frozen=True):
    """The first of some trees, and another one that is an instance of another class."""

    at: object
    first: Instance
    other: Instance


def of_two_classes(call: Call, trees: int, code: CodeRead, evaluator: Evaluator) -> Iterator[TwoClasses]:
    """The mismatch of the trees that a call takes from some position on, unless a function tells which are leaves."""
    if call.has_star or call.keyword("is_leaf") is not None:
        return
    instances = LocalInstances.of(code, evaluator)
    given = [(expr, instances.instance(expr)) for expr in call.positional[trees:]]
    first = given[0][1] if given else None
    for expr, other in given[1:]:
        if first is not None and other is not None and _are_unlike(first, other, evaluator):
            yield TwoClasses(expr.at, first, other)
            return


def _are_unlike(one: Instance, other: Instance, evaluator: Evaluator) -> bool:
    """Whether two instances certainly are of two classes, and neither is one that tells its structure by itself."""
    if one.cls is other.cls or any(i.cls.framework.is_stateful or not i.cls.bases_known for i in (one, other)):
        return False
    families = [{cls.symbol.key for cls in (i.cls, *evaluator.model.subclasses(i.cls))} for i in (one, other)]
    return families[0].isdisjoint(families[1])
