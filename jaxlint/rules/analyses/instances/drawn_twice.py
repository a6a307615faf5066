"""Two calls that draw random numbers with one key of a state, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead
from jaxlint.libraries.sampling import SAMPLERS, are_dependent
from jaxlint.rules.analyses.instances.keys_drawn import KEY, taken_from
from jaxlint.syntax.expressions import (
    Attribute,
    BoolOp,
    Call,
    Comprehension,
    Conditional,
    Expr,
    Lambda,
    Name,
    children,
    dotted,
    last_name,
)
from jaxlint.syntax.statements import (
    Assign,
    Body,
    ClassDefinition,
    FunctionDefinition,
    Statement,
    assigned_names,
    blocks,
    expressions,
    parts,
)

#: Functions that take one of two drawn numbers, so that only one counts.
_CHOOSING = frozenset({"where", "select", "select_n", "cond", "switch"})
#: What is evaluated now and then, or for each of several keys.
_UNSURE = (Conditional, BoolOp, Lambda, Comprehension)


class DrawnTwice(msgspec.Struct, frozen=True):
    """The later one of two calls, the one before, and the key, as an attribute of a variable that holds the state."""

    call: Call
    before: Call
    key: Attribute


def drawn_twice(code: CodeRead, evaluator: Evaluator) -> Iterator[DrawnTwice]:
    """The calls of samplers of `jax.random` whose key another one has been given before, on every way to them.

    Permutations and choices are no samplers: two arrays are shuffled alike with one key.
    """
    if sum(last_name(call.func) in SAMPLERS for call in code.calls) > 1:
        yield from _Reader(code, evaluator).read(code.body, {})


class _Reader:
    def __init__(self, code: CodeRead, evaluator: Evaluator) -> None:
        self._code, self._resolver = code, evaluator.model.resolver
        self._assigned = {event.attr for event in code.events if isinstance(event, AssignAttribute)}

    def read(self, body: Body, before: dict[str, Call]) -> Iterator[DrawnTwice]:
        """Go through a block; `before` has the keys that are used up when it begins, with the calls."""
        used = dict(before)
        for statement in body:
            yield from self._statement(statement, used)
            bound = assigned_names((statement,))
            used = {key: call for key, call in used.items() if key.partition(".")[0] not in bound}

    def _statement(self, statement: Statement, used: dict[str, Call]) -> Iterator[DrawnTwice]:
        for expr in expressions(statement):
            for call, chosen in _calls(expr, ()):
                key = self._key_of(call)
                if key is None:
                    continue
                first = used.setdefault(dotted(key) or "", call)
                if (
                    first is not call
                    and are_dependent(last_name(first.func), last_name(call.func))
                    and not self._is_chosen(first, call, chosen)
                ):
                    yield DrawnTwice(call, first, key)
        if not isinstance(statement, (FunctionDefinition, ClassDefinition)):
            for block in blocks(statement):
                yield from self.read(block, used)

    def _key_of(self, call: Call) -> Attribute | None:
        """The attribute of a variable that a sampler is given as its key."""
        if last_name(call.func) not in SAMPLERS or not call.positional:
            return None
        key = taken_from(call.positional[0], call, self._code)
        if not isinstance(key, Attribute) or not isinstance(key.value, Name) or not KEY.search(key.attr):
            return None
        name = self._resolver.library_name(call.func, self._code.place.module, self._code.scope)
        return key if name.startswith("jax.random.") and key.attr not in self._assigned else None

    def _is_chosen(self, first: Call, second: Call, around: tuple[Call, ...]) -> bool:
        """Whether something takes one of two drawn numbers, here or where both have names."""
        if any(part is first for one in around for part in parts(one)):
            return True
        names = {self._name_of(first), self._name_of(second)}
        choices = (call for call in self._code.calls if last_name(call.func) in _CHOOSING)
        return None not in names and any(names <= {dotted(given) for given in call.positional} for call in choices)

    def _name_of(self, call: Call) -> str | None:
        statement = self._code.contents.statement_of.get(id(call))
        if isinstance(statement, Assign) and statement.value is call and len(statement.targets) == 1:
            return dotted(statement.targets[0])
        return None


def _calls(expr: Expr, chosen: tuple[Call, ...]) -> Iterator[tuple[Call, tuple[Call, ...]]]:
    """The calls that an expression surely makes, each with the calls around it that take one of what they are given."""
    if isinstance(expr, _UNSURE):
        return
    if isinstance(expr, Call):
        yield expr, chosen
        if last_name(expr.func) in _CHOOSING:
            chosen = (*chosen, expr)
    for child in children(expr):
        yield from _calls(child, chosen)
