"""How many children, and how much aux data, one function gives and the other unpacks."""

from __future__ import annotations

import msgspec

from jaxlint.rules.analyses.rebuilding.flattening import Routine
from jaxlint.rules.analyses.rebuilding.reported import flattening_problem
from jaxlint.rules.base import Problem
from jaxlint.syntax.expressions import Constant, Display, Name, Span, Subscript
from jaxlint.syntax.statements import Assign, Return, blocks, looked_up, only_bound, own_parts, target_names

#: What is said of the two things that jax passes, one of it and several.
_AUX, _CHILDREN = ("item of aux data", "items of aux data"), ("child", "children")


class Miscounted(msgspec.Struct, frozen=True):
    """What the second function takes, which is more or less than there is, in words, and the error."""

    given: str
    taken: str
    error: str

    def problem(self, at: Span, gives: str, takes: str) -> Problem:
        """What happens then, of functions that are named so."""
        what = f"{gives} gives {self.given}, and {takes} {self.taken}: the first transformation fails ({self.error})"
        return flattening_problem(at, f"{what}; give as many as it takes", "give as many as are unpacked")


def miscounted(first: Routine, second: Routine) -> Miscounted | None:
    """Where `tree_unflatten` unpacks more or less than `tree_flatten` gives: `x, y = children` of `(self.x,)`."""
    counts = _counts(first)
    if counts is None or len(second.parameters) < 2:
        return None
    aux, children = second.parameters[-2:]
    held = {aux: (counts[1], _AUX), children: (counts[0], _CHILDREN)}
    for statement in second.body:
        match statement:
            case Assign(targets=(Display(has_star=False) as unpacked,), value=Name(id=name)) if name in held:
                count, words = held[name]
                if count not in (None, len(unpacked.items)):
                    return Miscounted(f"{count} {words[count != 1]}", f"unpacks {len(unpacked.items)}", "ValueError")
        if any(blocks(statement)):
            return None  # the data may decide
        for part in own_parts(statement):
            match part:
                case Subscript(value=Name(id=name), index=Constant(value=int(index))) if name in held:
                    count, words = held[name]
                    if count is not None and index >= count:
                        return Miscounted(f"{count} {words[count != 1]}", f"reads `{name}[{index}]`", "IndexError")
        for target in statement.targets if isinstance(statement, Assign) else ():
            for bound in target_names(target):
                held.pop(bound, None)
    return None


def _counts(routine: Routine) -> tuple[int | None, int | None] | None:
    """How many children a function gives, and how many things the aux data are, where both are written out."""
    last = routine.body[-1]
    bound = only_bound(routine.body[:-1])
    if bound is None or not isinstance(last, Return) or last.value is None:
        return None
    pair = looked_up(last.value, bound)
    if not isinstance(pair, Display) or pair.kind != "tuple" or len(pair.items) != 2:
        return None
    parts = [looked_up(item, bound) for item in pair.items]
    children, aux = (
        len(one.items) if isinstance(one, Display) and one.kind in ("tuple", "list") and not one.has_star else None
        for one in parts
    )
    return children, aux
