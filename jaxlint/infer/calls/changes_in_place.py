"""Notes what calls and assignments change in place: containers, attributes, items of arrays."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.notes import Notes
from jaxlint.infer.known.deferred import Held, Values
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.values import (
    UNKNOWN,
    Array,
    Container,
    Indexed,
    Possibly,
    Scalar,
    UnknownValue,
    Value,
    as_instance,
    plain,
)
from jaxlint.libraries import arrays
from jaxlint.libraries.updates import AT, UPDATE_METHODS
from jaxlint.pytrees.build import PytreeModel
from jaxlint.symbols.outline import MUTATING
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, Subscript, container, dotted, root


class ChangesInPlace:
    """Notes changes in place; an evaluator of calls does."""

    evaluator: Evaluator
    model: PytreeModel
    notes: Notes

    def _may_have_own_at(self, value: Value) -> bool:
        """Whether something may be an instance of a visible class with an `at` of its own."""
        place = self.notes.place
        if place is None or self.notes.events is None or not isinstance(plain(value), UnknownValue):
            return False
        return self.model.sees_other(place.module, AT)

    def note_method(
        self, call: Call, name: Attribute, func: Value, receiver: Value, values: Values, env: Environment
    ) -> None:
        """Note what the call of a method does to its receiver."""
        self.notes.call_method(call, receiver)
        if arrays.is_at_update(name):
            array, indexed = name.value.value.value, plain(receiver)  # type: ignore[union-attr]
            if isinstance(indexed, Indexed) and not self._may_have_own_at(indexed.array):
                self.notes.update(call, array, indexed.array, f"at.{name.attr}", (), Values(()))
        elif name.attr in MUTATING:
            self.mutate(call.at, name.value, receiver, name.attr, values.held[0] if len(values) == 1 else UNKNOWN, env)
        elif isinstance(func, UnknownValue) and isinstance(receiver, UnknownValue) and name.attr in UPDATE_METHODS:
            if call.args and not call.positional:
                self.notes.update(call, name.value, UNKNOWN, name.attr, call.args, values)

    def mutate(self, at: object, held_expr: Expr, held: Value, how: str, value: Held, env: Environment) -> None:
        """Note that what `held_expr` stands for is changed in place."""
        if self.notes.active is None:
            return
        place = container(held_expr)
        owner = None
        with self.notes.muted():
            if isinstance(place, Attribute):
                owner = as_instance(self.evaluator.evaluate(place.value, env))
            if isinstance(place, (Attribute, Name)):
                held = self.evaluator.evaluate(place, env)
            # a method of what is not known may be of the user's making, whatever it is called
            outer = place if how not in MUTATING or isinstance(plain(held), (Container, Array)) else None
            while isinstance(outer, Attribute) and not (owner is not None and owner.cls.is_pytree):
                outer = container(outer.value)
                owner = as_instance(self.evaluator.evaluate(outer.value, env)) if isinstance(outer, Attribute) else None
                if owner is not None and owner.cls.is_pytree:
                    place, how, held = outer, "attribute", self.evaluator.evaluate(outer, env)
        self.notes.mutate(at, place, held, how, value, owner, env)

    def holders(self, expr: Expr, env: Environment) -> Iterator[Value]:
        """What the parts of a dotted name are, but for all of it, from the longest to the first."""
        while isinstance(expr, Attribute):
            expr = expr.value
            yield self.evaluator.evaluate(expr, env)

    def assign_item(self, target: Subscript, how: str, env: Environment) -> None:
        """Note that an item is assigned; an item of an item of an array is one of the array, too."""
        if self.notes.active is None:
            return
        held: Expr = target.value
        with self.notes.muted():
            receiver = plain(self.evaluator.evaluate(held, env))
            while isinstance(receiver, UnknownValue) and isinstance(held, Subscript):
                held = held.value
                outer = plain(self.evaluator.evaluate(held, env))
                receiver = outer if isinstance(outer, Array) else receiver
            holder = self.evaluator.evaluate(held.value, env) if isinstance(held, Attribute) else UNKNOWN
            owner = as_instance(holder)
            above = self.holders(held.value, env) if isinstance(held, Attribute) and owner is not None else ()
            holders = tuple(map(as_instance, map(plain, above)))
            start = as_instance(self.evaluator.evaluate(root(held), env))
            index = plain(self.evaluator.evaluate(target.index, env))
        if isinstance(receiver, Array) and isinstance(index, Scalar) and index.kind == "str":
            return  # what is asked for by a string is no array, whatever an annotation says
        if isinstance(holder, Possibly) and isinstance(held, Attribute):
            self.notes.possible[id(held.value)] = holder.value
        made_here, mutable = start is not None and start.refilled, dotted(root(held)) in env.mutable_copies
        self.notes.assign_item(target, held, receiver, how, owner, made_here, mutable_copy=mutable, holders=holders)
