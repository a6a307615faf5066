"""Which variables a body asks `isinstance` about, and what they are after the answer."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.evaluating.points import value_at
from jaxlint.infer.known.values import (
    UNKNOWN,
    ClassObject,
    Container,
    Instance,
    is_declared,
    options,
    plain,
    without_none,
)
from jaxlint.pytrees.model import Placed
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.syntax.expressions import Call, Expr, dotted


class AskedClasses:
    """The variables, and what is read of them, about which a body asks `isinstance`."""

    def __init__(self, code: CodeRead, instances: LocalInstances, evaluator: Evaluator) -> None:
        self._code = code
        self._instances = instances
        self._evaluator = evaluator
        #: Whether no question about a path is about a class that what is known leaves out.
        self._expected: dict[str, bool] = {}
        for call in code.calls if "isinstance" in code.contents.called else ():
            if dotted(call.func) == "isinstance" and len(call.positional) == 2:
                self._ask(call)

    def _ask(self, call: Call) -> None:
        path = dotted(call.positional[0])
        if path is not None:
            self._expected[path] = self._expected.get(path, True) and self._is_expected(*call.positional)

    def _is_expected(self, asked: Expr, classes: Expr) -> bool:
        """Whether what is asked can be by what is known: an annotation that leaves a class out is meant loosely."""
        before = plain(without_none(self._instances.value(asked)))
        if not is_declared(before):
            return True
        held = [one.cls for one in map(plain, options(before)) if isinstance(one, Instance)]
        found = plain(self._evaluator.static(Placed(classes, self._code.place.module, self._code.scope)))
        named = found.items or (UNKNOWN,) if isinstance(found, Container) else (found,)
        return all(
            isinstance(one, ClassObject) and any(one.cls in cls.mro or cls in one.cls.mro for cls in held)
            for one in map(plain, named)
        )

    def concerns(self, expr: Expr) -> bool:
        """Whether a body asks about an expression, or about what it is read of."""
        path = dotted(expr) if self._expected else None
        return path is not None and any(path == one or path.startswith(f"{one}.") for one in self._expected)

    def instances(self, expr: Expr) -> tuple[Instance, ...]:
        """The instances that an expression may be where it stands; none if it may be something else."""
        path = dotted(expr) or ""
        if not all(is_right for one, is_right in self._expected.items() if f"{path}.".startswith(f"{one}.")):
            return ()
        found = options(plain(without_none(value_at(expr, self._code, self._evaluator))))
        held = tuple(one for one in map(plain, found) if isinstance(one, Instance) and one.cls.is_pytree)
        return held if len(held) == len(found) else ()
