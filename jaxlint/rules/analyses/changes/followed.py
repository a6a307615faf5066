"""What becomes of something that a body changes in place, where functions of the project are given it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import msgspec

from jaxlint.infer.bodies.slots import Slot, slot_of
from jaxlint.infer.bodies.usage import Changed, given_in
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import UNKNOWN, FunctionValue, Instance, Value, plain
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol
from jaxlint.rules.analyses.instances.callees import Callee, callee_of
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.symbols.outline import names_by_position
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name
from jaxlint.syntax.statements import Body

#: Through how many functions an object is followed.
_MOST = 2


class _Around(msgspec.Struct, frozen=True):
    """Where a body stands, and what is known of its expressions."""

    module: Module
    scope: str
    value_of: Callable[[Expr], Value]
    evaluator: Evaluator
    depth: int = 0


class Followed(Changed):
    """A place that a body changes; a function of the project that is given it, and only reads it, hands nothing on."""

    def __init__(self, slot: Slot, at: object, body: Body, around: _Around) -> None:
        self._around = around
        super().__init__(slot, at, body)

    @classmethod
    def of(cls, slot: Slot, at: object, code: CodeRead, evaluator: Evaluator) -> Followed:
        """A place that a body changes that has been read."""
        value_of = LocalInstances.of(code, evaluator).value
        return cls(slot, at, code.body, _Around(code.place.module, code.scope, value_of, evaluator))

    def is_followed(self, call: Call) -> bool:
        """Whether all that gets such an object is a parameter of a function whose body is seen to keep it in there."""
        if self._around.depth >= _MOST or call.has_star:
            return False
        holders = [expr for expr in given_in(call) if self.passes(expr)]
        if not all(map(self.is_holder, holders)):
            return False
        callee = self._callee(call)
        return callee is not None and all(self._only_reads(callee, call, holder) for holder in holders)

    def _callee(self, call: Call) -> Callee | None:
        """The function that a call runs, a method of what is called included."""
        around, func = self._around, call.func
        symbol = around.evaluator.model.resolver.resolve(func, around.module, around.scope)
        if isinstance(symbol, (External, ClassSymbol)):
            return None
        if isinstance(symbol, FunctionSymbol) and not symbol.declaration.scope:
            return callee_of(FunctionValue(symbol), around.evaluator, plainly=False)
        held = around.value_of(func.value if isinstance(func, Attribute) else func)
        if not isinstance(held, Instance):
            return callee_of(around.value_of(func), around.evaluator, plainly=False)
        with around.evaluator.calls.notes.muted():
            method = plain(
                around.evaluator.attribute_of(held, func.attr if isinstance(func, Attribute) else "__call__")
            )
        return callee_of(method, around.evaluator, plainly=False)

    def _only_reads(self, callee: Callee, call: Call, holder: Expr) -> bool:
        """Whether a function does not hand on what it is given for the parameters that get an object."""
        held = slot_of(holder)
        taking = [name for name, given in _given(callee, call) if given is holder]
        if held is None or not taking:
            return False
        known = {name: self._around.value_of(given) for name, given in _given(callee, call)}
        around = msgspec.structs.replace(
            self._around,
            module=callee.module,
            scope=callee.scope,
            value_of=partial(_named, known=known),
            depth=self._around.depth + 1,
        )
        rests = {s.path[len(held.path) :] for s in self.slots if self._overlap(held, s)}
        return not any(
            Followed(Slot(name, rest), object(), callee.body, around).is_handed_on()
            for name in taking
            for rest in rests
        )


def _given(callee: Callee, call: Call) -> Iterator[tuple[str, Expr]]:
    """The parameters that a call gives something, with that."""
    if callee.receiver:
        yield callee.receiver, given_in(call)[0]
    names = {parameter.name for parameter in callee.parameters}
    given = call.given_to(names_by_position(callee.parameters))
    yield from ((name, value) for name, value in given.items() if name in names)


def _named(expr: Expr, known: Mapping[str, Value]) -> Value:
    """What a parameter is, if it is known what it was given."""
    return known.get(expr.id, UNKNOWN) if isinstance(expr, Name) else UNKNOWN
